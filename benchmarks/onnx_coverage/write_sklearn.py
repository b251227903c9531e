"""Write ONNX models of scikit-learn's estimators as skl2onnx writes them, with what they return.

Run in an environment of its own, which needs nothing of benchmarker::

    uv venv estimators && uv pip install --python estimators scikit-learn skl2onnx onnxruntime
    estimators/bin/python write_sklearn.py FOLDER [--only PART] [--opsets 15,18]

Each estimator is fitted to random rows and comes as ``sklearn_NAME@skl2onnx-OPSET.onnx`` with inputs and outputs beside
it, as those of ``write_models.py``. The outputs are ONNX Runtime's, so that scikit-learn's own precision, which
is higher than the file's, does not decide.
"""

from __future__ import annotations

import argparse
import inspect
import json
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from skl2onnx import to_onnx
from sklearn import (
    calibration,
    cluster,
    compose,
    cross_decomposition,
    decomposition,
    discriminant_analysis,
    ensemble,
    feature_selection,
    gaussian_process,
    impute,
    linear_model,
    mixture,
    model_selection,
    multiclass,
    multioutput,
    naive_bayes,
    neighbors,
    neural_network,
    pipeline,
    preprocessing,
    random_projection,
    svm,
    tree,
)
from sklearn.base import is_classifier

ROWS, FEATURES, CLASSES = 200, 6, 3
OLDEST_ML = 3
NOT_ZIPPED = (svm.LinearSVC, linear_model.RidgeClassifier, linear_model.Perceptron)
"""Classifiers that give scores, which skl2onnx never makes dictionaries of."""


def regressors() -> dict[str, Any]:
    """Return estimators of a number."""
    return {
        "linear": linear_model.LinearRegression(),
        "ridge": linear_model.Ridge(),
        "lasso": linear_model.Lasso(alpha=0.01),
        "sgd_regressor": linear_model.SGDRegressor(),
        "tree_regressor": tree.DecisionTreeRegressor(max_depth=6),
        "forest_regressor": ensemble.RandomForestRegressor(12, max_depth=6),
        "extra_regressor": ensemble.ExtraTreesRegressor(8),
        "boosting_regressor": ensemble.GradientBoostingRegressor(n_estimators=15),
        "hist_regressor": ensemble.HistGradientBoostingRegressor(max_iter=8),
        "adaboost_regressor": ensemble.AdaBoostRegressor(n_estimators=4),
        "bagging_regressor": ensemble.BaggingRegressor(n_estimators=4),
        "svr": svm.SVR(),
        "svr_poly": svm.SVR(kernel="poly", degree=2),
        "linear_svr": svm.LinearSVR(),
        "neighbors_regressor": neighbors.KNeighborsRegressor(4),
        "mlp_regressor": neural_network.MLPRegressor(hidden_layer_sizes=(8, 8), max_iter=50),
        "gaussian_process": gaussian_process.GaussianProcessRegressor(),
        "ard": linear_model.ARDRegression(),
        "bayesian_ridge": linear_model.BayesianRidge(),
        "elastic_net": linear_model.ElasticNet(alpha=0.01),
        "elastic_net_searched": linear_model.ElasticNetCV(),
        "extra_tree_regressor": tree.ExtraTreeRegressor(max_depth=5),
        "huber": linear_model.HuberRegressor(),
        "lars": linear_model.Lars(),
        "lasso_lars": linear_model.LassoLars(alpha=0.001),
        "linear_scaled": pipeline.make_pipeline(preprocessing.StandardScaler(), linear_model.Lasso(0.01)),
        "matching_pursuit": linear_model.OrthogonalMatchingPursuit(),
        "nu_svr": svm.NuSVR(),
        "partial_squares": cross_decomposition.PLSRegression(2),
        "quantile": linear_model.QuantileRegressor(solver="highs"),
        "radius_regressor": neighbors.RadiusNeighborsRegressor(4.0),
        "random_consensus": linear_model.RANSACRegressor(),
        "searched_ridge": model_selection.GridSearchCV(linear_model.Ridge(), {"alpha": [0.1, 1.0]}),
        "stacked_regressor": ensemble.StackingRegressor(
            [("a", linear_model.Ridge()), ("b", tree.DecisionTreeRegressor(max_depth=3))]
        ),
        "svr_linear": svm.SVR(kernel="linear"),
        "svr_sigmoid": svm.SVR(kernel="sigmoid"),
        "theil_sen": linear_model.TheilSenRegressor(),
        "weighted_neighbors": neighbors.KNeighborsRegressor(4, weights="distance"),
        "voting_regressor": ensemble.VotingRegressor(
            [("a", linear_model.Ridge()), ("b", tree.DecisionTreeRegressor(max_depth=3))]
        ),
    }


def classifiers() -> dict[str, Any]:
    """Return estimators of a class."""
    return {
        "logistic": linear_model.LogisticRegression(),
        "sgd_classifier": linear_model.SGDClassifier(loss="log_loss"),
        "ridge_classifier": linear_model.RidgeClassifier(),
        "perceptron": linear_model.Perceptron(),
        "tree_classifier": tree.DecisionTreeClassifier(max_depth=6),
        "forest_classifier": ensemble.RandomForestClassifier(12, max_depth=6),
        "extra_classifier": ensemble.ExtraTreesClassifier(8),
        "boosting_classifier": ensemble.GradientBoostingClassifier(n_estimators=8),
        "hist_classifier": ensemble.HistGradientBoostingClassifier(max_iter=6),
        "adaboost_classifier": ensemble.AdaBoostClassifier(n_estimators=4),
        "bagging_classifier": ensemble.BaggingClassifier(n_estimators=4),
        "svc": svm.SVC(),
        "svc_probability": svm.SVC(probability=True),
        "linear_svc": svm.LinearSVC(),
        "neighbors_classifier": neighbors.KNeighborsClassifier(4),
        "mlp_classifier": neural_network.MLPClassifier((8, 8), max_iter=50),
        "gaussian_nb": naive_bayes.GaussianNB(),
        "bernoulli_nb": naive_bayes.BernoulliNB(),
        "voting_classifier": ensemble.VotingClassifier(
            [("a", linear_model.LogisticRegression()), ("b", naive_bayes.GaussianNB())],
            voting="soft",
            flatten_transform=False,
        ),
        "calibrated": calibration.CalibratedClassifierCV(linear_model.LogisticRegression(), cv=2),
        "calibrated_isotonic": calibration.CalibratedClassifierCV(
            naive_bayes.GaussianNB(), cv=2, method="isotonic"
        ),
        "extra_tree_classifier": tree.ExtraTreeClassifier(max_depth=5),
        "gaussian_process_classifier": gaussian_process.GaussianProcessClassifier(),
        "linear_discriminant": discriminant_analysis.LinearDiscriminantAnalysis(),
        "logistic_searched": linear_model.LogisticRegressionCV(
            Cs=3, l1_ratios=(0,), use_legacy_attributes=False
        ),
        "mlp_tanh": neural_network.MLPClassifier((6,), activation="tanh", max_iter=50),
        "nu_svc": svm.NuSVC(nu=0.3),
        "one_against_one": multiclass.OneVsOneClassifier(linear_model.LogisticRegression()),
        "one_against_rest": multiclass.OneVsRestClassifier(linear_model.LogisticRegression()),
        "quadratic_discriminant": discriminant_analysis.QuadraticDiscriminantAnalysis(),
        "radius_classifier": neighbors.RadiusNeighborsClassifier(4.0),
        "sgd_hinge": linear_model.SGDClassifier(),
        "stacked_classifier": ensemble.StackingClassifier(
            [("a", linear_model.LogisticRegression()), ("b", tree.DecisionTreeClassifier(max_depth=3))]
        ),
        "svc_linear": svm.SVC(kernel="linear"),
        "svc_poly": svm.SVC(kernel="poly"),
        "scaled_logistic": pipeline.make_pipeline(
            preprocessing.StandardScaler(), linear_model.LogisticRegression()
        ),
        "components_svc": pipeline.make_pipeline(decomposition.PCA(3), svm.LinearSVC()),
    }


def transformers() -> dict[str, Any]:
    """Return estimators that give other features."""
    return {
        "standard_scaler": preprocessing.StandardScaler(),
        "min_max_scaler": preprocessing.MinMaxScaler(),
        "max_abs_scaler": preprocessing.MaxAbsScaler(),
        "robust_scaler": preprocessing.RobustScaler(),
        "normalizer": preprocessing.Normalizer(),
        "normalizer_l1": preprocessing.Normalizer("l1"),
        "normalizer_max": preprocessing.Normalizer("max"),
        "binarizer": preprocessing.Binarizer(threshold=0.1),
        "polynomial": preprocessing.PolynomialFeatures(2),
        "power": preprocessing.PowerTransformer(),
        "discretizer": preprocessing.KBinsDiscretizer(4, encode="ordinal"),
        "pca": decomposition.PCA(3),
        "svd": decomposition.TruncatedSVD(3),
        "kmeans": cluster.KMeans(4),
        "mixture": mixture.GaussianMixture(3),
        "projection": random_projection.GaussianRandomProjection(3),
        "imputer": impute.SimpleImputer(),
        "median_imputer": impute.SimpleImputer(strategy="median"),
        "neighbors_imputer": impute.KNNImputer(n_neighbors=3),
        "isolation": ensemble.IsolationForest(n_estimators=6),
        "one_class": svm.OneClassSVM(),
        "bayesian_mixture": mixture.BayesianGaussianMixture(n_components=3),
        "factors": decomposition.FactorAnalysis(3),
        "incremental_pca": decomposition.IncrementalPCA(3),
        "independent": decomposition.FastICA(3),
        "kernel_pca": decomposition.KernelPCA(3, kernel="rbf"),
        "mini_batch_kmeans": cluster.MiniBatchKMeans(4),
        "mixture_tied": mixture.GaussianMixture(3, covariance_type="tied"),
        "neighborhood": neighbors.NeighborhoodComponentsAnalysis(3, max_iter=5),
        "one_class_linear": linear_model.SGDOneClassSVM(),
        "outliers": neighbors.LocalOutlierFactor(novelty=True),
        "pca_whitened": decomposition.PCA(3, whiten=True),
        "quantiles": preprocessing.QuantileTransformer(n_quantiles=20),
        "sides": pipeline.make_union(preprocessing.StandardScaler(), decomposition.PCA(2)),
        "tree_places": ensemble.RandomTreesEmbedding(4, max_depth=3, sparse_output=False),
        "variance": feature_selection.VarianceThreshold(0.5),
        "columns": compose.make_column_transformer(
            (preprocessing.StandardScaler(), [0, 1, 2]), (preprocessing.MinMaxScaler(), [3, 4])
        ),
        "discretizer_hot": preprocessing.KBinsDiscretizer(4, encode="onehot-dense"),
        "power_box": pipeline.make_pipeline(
            preprocessing.MinMaxScaler((1, 2)), preprocessing.PowerTransformer("box-cox")
        ),
    }


def fitted() -> dict[str, Callable[[], tuple[Any, Any]]]:
    """Return what fits each estimator, and gives rows to ask it about."""
    generator = np.random.default_rng(0)
    x = generator.normal(size=(ROWS, FEATURES)).astype(np.float32)
    weights = generator.normal(size=FEATURES)
    number = x @ weights + np.sin(3 * x[:, 0])
    classes = np.digitize(number, np.quantile(number, [1 / 3, 2 / 3]))
    signs = (number > 0).astype(np.int64)
    holes = np.where(generator.random(x.shape) < 0.1, np.float32(np.nan), x)
    places = generator.integers(0, 5, x.shape)
    found: dict[str, Callable[[], tuple[Any, Any]]] = {}
    for name, model in regressors().items():
        found[name] = lambda model=model: (model.fit(x, number), x[:8])
    for name, model in classifiers().items():
        found[name] = lambda model=model: (model.fit(x, classes), x[:8])
    for name, model in transformers().items():
        rows = holes if name.endswith("imputer") else x
        found[name] = lambda model=model, rows=rows: (model.fit(rows), rows[:8])
    found["binary_logistic"] = lambda: (linear_model.LogisticRegression().fit(x, signs), x[:8])
    found["binary_forest"] = lambda: (ensemble.RandomForestClassifier(6).fit(x, signs), x[:8])
    found["binary_svc"] = lambda: (svm.SVC(probability=True).fit(x, signs), x[:8])
    positive, both = np.abs(x), np.stack([number, -2 * number + x[:, 1]], 1)
    counts = np.floor(3 * positive).astype(np.float32)
    for name, model in {
        "gamma_regressor": linear_model.GammaRegressor(),
        "poisson": linear_model.PoissonRegressor(),
        "tweedie": linear_model.TweedieRegressor(power=1.5),
    }.items():
        found[name] = lambda model=model: (model.fit(x, np.exp(number / 4)), x[:8])
    for name, model in {
        "multinomial_nb": naive_bayes.MultinomialNB(),
        "complement_nb": naive_bayes.ComplementNB(),
    }.items():
        found[name] = lambda model=model: (model.fit(counts, classes), counts[:8])
    for name, model in {
        "linear_two": linear_model.LinearRegression(),
        "multi_task_lasso": linear_model.MultiTaskLasso(0.01),
        "neighbors_two": neighbors.KNeighborsRegressor(3),
        "forest_two": ensemble.RandomForestRegressor(6, max_depth=4),
        "mlp_two": neural_network.MLPRegressor((6,), max_iter=50),
        "multi_output": multioutput.MultiOutputRegressor(linear_model.Ridge()),
    }.items():
        found[name] = lambda model=model: (model.fit(x, both), x[:8])
    best = feature_selection.SelectKBest(k=3)
    found["best"] = lambda: (best.fit(x, classes), x[:8])
    share = feature_selection.SelectPercentile(percentile=50)
    found["percentile"] = lambda: (share.fit(x, classes), x[:8])
    found["binary_boosting"] = lambda: (
        ensemble.GradientBoostingClassifier(n_estimators=6).fit(x, signs),
        x[:8],
    )
    found["binary_hist"] = lambda: (ensemble.HistGradientBoostingClassifier(max_iter=6).fit(x, signs), x[:8])
    found["binary_mlp"] = lambda: (neural_network.MLPClassifier((6,), max_iter=50).fit(x, signs), x[:8])
    found["binary_linear_svc"] = lambda: (svm.LinearSVC().fit(x, signs), x[:8])
    found["categorical_nb"] = lambda: (naive_bayes.CategoricalNB().fit(places, classes), places[:8])
    found["one_hot"] = lambda: (preprocessing.OneHotEncoder(sparse_output=False).fit(places), places[:8])
    found["ordinal"] = lambda: (preprocessing.OrdinalEncoder().fit(places), places[:8])
    return found


def write(name: str, model: Any, rows: Any, opset: int, folder: Path) -> None:
    """Export an estimator and keep its rows and what ONNX Runtime makes of them."""
    last = model.steps[-1][1] if hasattr(model, "steps") else model
    zipped = is_classifier(model) and not isinstance(last, NOT_ZIPPED)
    options = {id(model): {"zipmap": False}} if zipped else None
    target = {"": opset, "ai.onnx.ml": OLDEST_ML}
    written = to_onnx(model, rows[:1], options=options, target_opset=target).SerializeToString()
    session = onnxruntime.InferenceSession(written, providers=["CPUExecutionProvider"])
    given = session.get_inputs()[0].name
    # A dictionary of probabilities for each row stands for a row of them.
    results = [
        np.array([list(row.values()) for row in found]) if isinstance(found, list) else found
        for found in session.run(None, {given: rows})
    ]
    path = folder / f"sklearn_{name}@skl2onnx-{opset}.onnx"
    path.write_bytes(written)
    np.savez(path.with_suffix(".npz"), **{given: rows, **{f"output{i}": y for i, y in enumerate(results)}})


def main() -> None:
    """Write all estimators, or those whose name holds a part."""
    parser = argparse.ArgumentParser(description=inspect.getdoc(sys.modules[__name__]))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--opsets", default="15,18")
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    refused: dict[str, str] = {}
    for name, make in fitted().items():
        for opset in map(int, asked.opsets.split(",") if asked.only in name else ()):
            try:
                write(name, *make(), opset, asked.folder)
            except Exception as error:
                refused[f"sklearn_{name}@skl2onnx-{opset}"] = f"{type(error).__name__}: {str(error)[:200]}"
            print(name, opset, refused.get(f"sklearn_{name}@skl2onnx-{opset}", "written"), flush=True)
    (asked.folder / "refused_sklearn.json").write_text(json.dumps(refused, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
