"""The contract of an optimizer: an update rule, written once in operators of the vocabulary.

The same text gives the float64 equations that every framework is held to, a graph, and a framework's native update.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import field, fields
from typing import TYPE_CHECKING, Any, ClassVar, Dict, Optional, Tuple

from benchmarker.api.rules import Real, Rule
from benchmarker.quick_dataclass import dataclass

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from benchmarker.graph.operators import Operators, Tensor

    Array = npt.NDArray[np.generic]

Shape = Tuple[int, ...]
RATIO = Real(least=0.0, below=1.0)
"""Of what is kept of an average."""
NOT_NEGATIVE = Real(least=0.0)
POSITIVE = Real(above=0.0)


def constant(default: float, rule: Rule = NOT_NEGATIVE) -> Any:
    """Return the field of a constant.

    Parameters
    ----------
    default : float
        The published or usual value.
    rule : Rule
        What it may be; another value is refused before anything starts.
    """
    return field(default=default, metadata={"rule": rule})


@dataclass(frozen=True)
class ParameterPlace:
    """What a rule may know of a parameter besides its values.

    Parameters
    ----------
    name : str
        In the graph.
    shape : tuple of int
        Of the tensors that the rule is given.
    is_hidden_matrix : bool
        Whether it is the matrix of a layer that is not the last one, and no table of embeddings.
    is_transposed : bool
        Whether these tensors are the transpose of the graph's matrix, which has a row for each output.
    decays : bool
        Whether weight decay is meant for it; a rule need not look: where it is not, it is built without a decay.
    """

    name: str
    shape: Shape
    is_hidden_matrix: bool = False
    is_transposed: bool = False
    decays: bool = True


@dataclass(frozen=True)
class Given:
    """What an update has of one parameter.

    Parameters
    ----------
    place : ParameterPlace
        What is known of it.
    gradient, parameter : tensor
        Of its shape.
    state : mapping
        Tensors by name, of :meth:`UpdateRule.state_shapes`.
    numbers : mapping
        Scalars, of :meth:`UpdateRule.numbers`.
    totals : mapping
        Scalars, of :meth:`UpdateRule.totals` added up; empty while these are computed.
    """

    place: ParameterPlace
    gradient: Tensor
    parameter: Tensor
    state: Mapping[str, Tensor]
    numbers: Mapping[str, Tensor]
    totals: Mapping[str, Tensor] = field(default_factory=dict)


@dataclass(frozen=True)
class UpdateRule(ABC):
    """How parameters follow their gradients. A subclass is a frozen dataclass whose fields are its constants.

    Tensors are those of the operators that are given: the text must call these and nothing else. Every parameter has
    state of its own, and all of it starts at 0 unless :meth:`start` says otherwise.

    Attributes
    ----------
    name : str
        As ``--optimizer`` takes it.
    source : str
        Who has published it.
    state : tuple of str
        Names of the state, letters of the published equations where they have some.
    is_elementwise : bool
        Whether each element goes its own way, so that it matters neither how a parameter stands nor what else there is.
    is_separable : bool
        Whether a parameter may be given in several parts, as if these were parameters.
    uses_axes : bool
        Whether the axes of a parameter that has more than two must be as in the graph; those of a matrix may be
        swapped and permuted.
    decay_kind : {"coupled", "decoupled", "own"}
        Whether its weight decay is added to the gradient before all else, taken from the parameter beside the step, or
        neither. Built with a weight decay of 0 it has none.
    digest : str or None
        Of the file that holds it.
    """

    learning_rate: float = constant(0.01)
    weight_decay: float = constant(0.0)

    name: ClassVar[str]
    source: ClassVar[str]
    state: ClassVar[Tuple[str, ...]] = ()
    is_elementwise: ClassVar[bool] = True
    is_separable: ClassVar[bool] = True
    uses_axes: ClassVar[bool] = False
    decay_kind: ClassVar[str] = "own"
    digest: ClassVar[Optional[str]] = None

    def benchmarker_optimizer(self) -> UpdateRule:
        """Return the rule itself with its usual constants, so that an entry point may name its class."""
        return self

    def state_shapes(self, place: ParameterPlace) -> Mapping[str, Shape]:
        """Return the shapes of the state of a parameter by name: the parameter's own, or those it needs."""
        return dict.fromkeys(self.state, place.shape)

    def start(self, place: ParameterPlace, parameter: Array) -> Dict[str, Array]:
        """Return the state before the first update.

        Parameters
        ----------
        place : ParameterPlace
            What is known of the parameter.
        parameter : array
            Its values, of ``place.shape``.

        Returns
        -------
        dict
            By the names of :attr:`state` NumPy arrays of the shapes of :meth:`state_shapes`, in the parameter's type.
        """
        import numpy as np

        return {name: np.zeros(shape, parameter.dtype) for name, shape in self.state_shapes(place).items()}

    def numbers(self, step: int, memory: Dict[str, float]) -> Dict[str, float]:
        """Return what of the equations changes from step to step and is the same for all parameters.

        It is computed in float64 outside the update, which takes it as scalars.

        Parameters
        ----------
        step : int
            Of the update, from 1.
        memory : dict
            Numbers that are kept from update to update; empty before the first.
        """
        return {"learning_rate": self.learning_rate, "weight_decay": self.weight_decay}

    def totals(self, operators: Operators, given: Given) -> Dict[str, Tensor]:
        """Return scalars that are added up over all parameters before any of them is updated.

        A global norm, for example, is the root of the sum of the squares that this returns of each parameter.

        Parameters
        ----------
        operators : Operators
            The meaning of the vocabulary.
        given : Given
            Of one parameter, without totals.
        """
        return {}

    @abstractmethod
    def update(self, operators: Operators, given: Given) -> Tuple[Tensor, Dict[str, Tensor]]:
        """Return a parameter and its state after the update, made of the operators alone.

        Parameters
        ----------
        operators : Operators
            The meaning of the vocabulary; nothing else may compute.
        given : Given
            Of one parameter.

        Returns
        -------
        parameter : tensor
            Of the shape that it had.
        state : dict
            By the names of :attr:`state`, of the shapes that they had.
        """

    def prepare(self, operators: Operators, after: Given) -> Tensor:
        """Return where the next gradient is taken, which is what a program then holds as the parameter.

        Parameters
        ----------
        operators : Operators
            The meaning of the vocabulary.
        after : Given
            What :meth:`update` had, with the parameter and the state that it returned.
        """
        return after.parameter

    def evaluation(self, operators: Operators, parameter: Tensor, state: Mapping[str, Tensor]) -> Tensor:
        """Return the weights that are evaluated, of what a program holds.

        Parameters
        ----------
        operators : Operators
            The meaning of the vocabulary.
        parameter : tensor
            What :meth:`prepare` returned last, or the drawn weights before the first update.
        state : mapping
            By name, after the last update.
        """
        return parameter

    @property
    def evaluates_weights(self) -> bool:
        """Whether what is evaluated are the weights themselves, so that no state is needed for it."""
        return type(self).evaluation is UpdateRule.evaluation


def rule_constants(rule: type[UpdateRule] | UpdateRule) -> Dict[str, Rule]:
    """Return the constants of a rule, and what each may be."""
    return {f.name: f.metadata["rule"] for f in fields(rule) if "rule" in f.metadata}
