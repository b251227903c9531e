"""What the author of a plugin imports, and all that one may rely on: ``from benchmarker.api import Problem``.

Beside it stand :mod:`benchmarker.testing` and the calls of :mod:`benchmarker` itself. ``docs/plugins.md`` tells what
each kind of plugin is made of. A name is loaded when it is first used, so that a description of a framework, a data
set or a chart costs no import of the graph.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from benchmarker.api.chart import Axis as Axis
    from benchmarker.api.chart import Chart as Chart
    from benchmarker.api.chart import Heat as Heat
    from benchmarker.api.chart import Mark as Mark
    from benchmarker.api.chart import Panel as Panel
    from benchmarker.api.chart import Series as Series
    from benchmarker.api.chart_kind import ChartKind as ChartKind
    from benchmarker.api.collective import COLLECTIVES as COLLECTIVES
    from benchmarker.api.collective import Collective as Collective
    from benchmarker.api.collective import CollectiveProgram as CollectiveProgram
    from benchmarker.api.collective import NativeCollectives as NativeCollectives
    from benchmarker.api.collector import Readings as Readings
    from benchmarker.api.collector import Run as Run
    from benchmarker.api.collector import Unavailable as Unavailable
    from benchmarker.api.dataset import Dataset as Dataset
    from benchmarker.api.dataset import DatasetReader as DatasetReader
    from benchmarker.api.dataset import SourceFile as SourceFile
    from benchmarker.api.dataset import from_pixels as from_pixels
    from benchmarker.api.framework import MODES as MODES
    from benchmarker.api.framework import PRECISIONS as PRECISIONS
    from benchmarker.api.framework import Device as Device
    from benchmarker.api.framework import Framework as Framework
    from benchmarker.api.framework import FrameworkPlugin as FrameworkPlugin
    from benchmarker.api.framework import NoOptions as NoOptions
    from benchmarker.api.interconnect import Interconnect as Interconnect
    from benchmarker.api.launcher import Event as Event
    from benchmarker.api.launcher import Handler as Handler
    from benchmarker.api.launcher import Launcher as Launcher
    from benchmarker.api.launcher import Outcome as Outcome
    from benchmarker.api.launcher import WorkerCommand as WorkerCommand
    from benchmarker.api.modifiers import Modifiers as Modifiers
    from benchmarker.api.native_scheme import Helper as Helper
    from benchmarker.api.native_scheme import NativeScheme as NativeScheme
    from benchmarker.api.native_scheme import Served as Served
    from benchmarker.api.native_scheme import ServerAgain as ServerAgain
    from benchmarker.api.optimizer import OPTIMIZERS as OPTIMIZERS
    from benchmarker.api.optimizer import Optimizer as Optimizer
    from benchmarker.api.optimizer import state_names as state_names
    from benchmarker.api.problem import OPERATOR as OPERATOR
    from benchmarker.api.problem import Problem as Problem
    from benchmarker.api.problem import Published as Published
    from benchmarker.api.problem import with_defaults as with_defaults
    from benchmarker.api.problem_scheme import ProblemReference as ProblemReference
    from benchmarker.api.problem_scheme import ProblemScheme as ProblemScheme
    from benchmarker.api.problem_scheme import ResolvedProblem as ResolvedProblem
    from benchmarker.api.profile import PHASES as PHASES
    from benchmarker.api.profile import Call as Call
    from benchmarker.api.profile import Profile as Profile
    from benchmarker.api.program import Program as Program
    from benchmarker.api.recipe import RecipeFile as RecipeFile
    from benchmarker.api.rules import Choice as Choice
    from benchmarker.api.rules import Flag as Flag
    from benchmarker.api.rules import Real as Real
    from benchmarker.api.rules import Rule as Rule
    from benchmarker.api.rules import Sizes as Sizes
    from benchmarker.api.rules import Text as Text
    from benchmarker.api.rules import Whole as Whole
    from benchmarker.api.scheme import Communicator as Communicator
    from benchmarker.api.scheme import Model as Model
    from benchmarker.api.scheme import RankSteps as RankSteps
    from benchmarker.api.scheme import Replica as Replica
    from benchmarker.api.scheme import Scheme as Scheme
    from benchmarker.api.scheme import Update as Update
    from benchmarker.api.scheme import part_of as part_of
    from benchmarker.api.suite import Request as Request
    from benchmarker.api.suite import Suite as Suite
    from benchmarker.api.training_state import TrainingState as TrainingState
    from benchmarker.api.update_rule import Given as Given
    from benchmarker.api.update_rule import ParameterPlace as ParameterPlace
    from benchmarker.api.update_rule import UpdateRule as UpdateRule
    from benchmarker.api.update_rule import constant as constant
    from benchmarker.api.world import World as World
    from benchmarker.errors import BenchmarkerError as BenchmarkerError
    from benchmarker.errors import UnsupportedError as UnsupportedError
    from benchmarker.errors import UsageError as UsageError
    from benchmarker.graph.attributes import Gemm as Gemm
    from benchmarker.graph.attributes import PlainRecurrent as PlainRecurrent
    from benchmarker.graph.attributes import Recurrent as Recurrent
    from benchmarker.graph.attributes import Slice as Slice
    from benchmarker.graph.custom import ANY as ANY
    from benchmarker.graph.custom import Body as Body
    from benchmarker.graph.custom import CppSource as CppSource
    from benchmarker.graph.custom import CustomOperator as CustomOperator
    from benchmarker.graph.custom import NativeFunction as NativeFunction
    from benchmarker.graph.custom import NumpyFunction as NumpyFunction
    from benchmarker.graph.graph import Graph as Graph
    from benchmarker.graph.graph import apply_node as apply_node
    from benchmarker.graph.graph import walk as walk
    from benchmarker.graph.network import Network as Network
    from benchmarker.graph.operators import OPERATORS as OPERATORS
    from benchmarker.graph.operators import Operators as Operators
    from benchmarker.graph.operators import Tensor as Tensor
    from benchmarker.graph.types import Distribution as Distribution
    from benchmarker.graph.types import Input as Input
    from benchmarker.graph.types import Node as Node
    from benchmarker.graph.types import Parameter as Parameter
    from benchmarker.graph.types import TensorType as TensorType
    from benchmarker.graph.windows import AveragePooling as AveragePooling
    from benchmarker.graph.windows import MaxPooling as MaxPooling
    from benchmarker.graph.windows import TransposedWindow as TransposedWindow
    from benchmarker.graph.windows import Window as Window

__all__ = [
    "ANY",
    "COLLECTIVES",
    "MODES",
    "OPERATOR",
    "OPERATORS",
    "OPTIMIZERS",
    "PHASES",
    "PRECISIONS",
    "AveragePooling",
    "Axis",
    "BenchmarkerError",
    "Body",
    "Call",
    "Chart",
    "ChartKind",
    "Choice",
    "Collective",
    "CollectiveProgram",
    "Communicator",
    "CppSource",
    "CustomOperator",
    "Dataset",
    "DatasetReader",
    "Device",
    "Distribution",
    "Event",
    "Flag",
    "Framework",
    "FrameworkPlugin",
    "Gemm",
    "Given",
    "Graph",
    "Handler",
    "Heat",
    "Helper",
    "Input",
    "Interconnect",
    "Launcher",
    "Mark",
    "MaxPooling",
    "Model",
    "Modifiers",
    "NativeCollectives",
    "NativeFunction",
    "NativeScheme",
    "Network",
    "NoOptions",
    "Node",
    "NumpyFunction",
    "Operators",
    "Optimizer",
    "Outcome",
    "Panel",
    "Parameter",
    "ParameterPlace",
    "PlainRecurrent",
    "Problem",
    "ProblemReference",
    "ProblemScheme",
    "Profile",
    "Program",
    "Published",
    "RankSteps",
    "Readings",
    "Real",
    "RecipeFile",
    "Recurrent",
    "Replica",
    "Request",
    "ResolvedProblem",
    "Rule",
    "Run",
    "Scheme",
    "Series",
    "Served",
    "ServerAgain",
    "Sizes",
    "Slice",
    "SourceFile",
    "Suite",
    "Tensor",
    "TensorType",
    "Text",
    "TrainingState",
    "TransposedWindow",
    "Unavailable",
    "UnsupportedError",
    "Update",
    "UpdateRule",
    "UsageError",
    "Whole",
    "Window",
    "WorkerCommand",
    "World",
    "apply_node",
    "constant",
    "from_pixels",
    "part_of",
    "state_names",
    "walk",
    "with_defaults",
]

_NAMES = {
    # A problem: its parameters, its graph, its optimizer.
    "benchmarker.api.problem": ("OPERATOR", "Problem", "Published", "with_defaults"),
    "benchmarker.api.optimizer": ("OPTIMIZERS", "Optimizer", "state_names"),
    # An optimizer, and what is done around it.
    "benchmarker.api.modifiers": ("Modifiers",),
    "benchmarker.api.update_rule": ("Given", "ParameterPlace", "UpdateRule", "constant"),
    "benchmarker.graph.network": ("Network",),
    "benchmarker.graph.types": ("Distribution", "Input", "Node", "Parameter", "TensorType"),
    "benchmarker.graph.custom": (
        "ANY",
        "Body",
        "CppSource",
        "CustomOperator",
        "NativeFunction",
        "NumpyFunction",
    ),
    # A framework: what is known of it, what it does in the worker, its operators.
    "benchmarker.api.framework": (
        "Device",
        "Framework",
        "FrameworkPlugin",
        "MODES",
        "NoOptions",
        "PRECISIONS",
    ),
    "benchmarker.api.program": ("Program",),
    "benchmarker.api.training_state": ("TrainingState",),
    # Several ranks: who takes part, and what they exchange.
    "benchmarker.api.world": ("World",),
    "benchmarker.api.interconnect": ("Interconnect",),
    "benchmarker.api.native_scheme": ("Helper", "NativeScheme", "Served", "ServerAgain"),
    "benchmarker.api.collective": ("COLLECTIVES", "Collective", "CollectiveProgram", "NativeCollectives"),
    "benchmarker.api.scheme": (
        "Communicator",
        "Model",
        "RankSteps",
        "Replica",
        "Scheme",
        "Update",
        "part_of",
    ),
    "benchmarker.api.profile": ("Call", "PHASES", "Profile"),
    "benchmarker.graph.graph": ("Graph", "apply_node", "walk"),
    "benchmarker.graph.operators": ("OPERATORS", "Operators", "Tensor"),
    "benchmarker.graph.attributes": ("Gemm", "PlainRecurrent", "Recurrent", "Slice"),
    "benchmarker.graph.windows": ("AveragePooling", "MaxPooling", "TransposedWindow", "Window"),
    # Types of parameters and options, with their bounds.
    "benchmarker.api.recipe": ("RecipeFile",),
    "benchmarker.api.rules": ("Choice", "Flag", "Real", "Rule", "Sizes", "Text", "Whole"),
    # Everything else that has a name on the command line.
    "benchmarker.api.collector": ("Readings", "Run", "Unavailable"),
    "benchmarker.api.launcher": ("Event", "Handler", "Launcher", "Outcome", "WorkerCommand"),
    "benchmarker.api.suite": ("Request", "Suite"),
    "benchmarker.api.dataset": ("Dataset", "DatasetReader", "SourceFile", "from_pixels"),
    "benchmarker.api.chart_kind": ("ChartKind",),
    "benchmarker.api.chart": ("Axis", "Chart", "Heat", "Mark", "Panel", "Series"),
    "benchmarker.api.problem_scheme": ("ProblemReference", "ProblemScheme", "ResolvedProblem"),
    # What a plugin raises: each is told to the user as one sentence.
    "benchmarker.errors": ("BenchmarkerError", "UnsupportedError", "UsageError"),
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    found = getattr(import_module(_MODULES[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})
