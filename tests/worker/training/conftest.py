"""What the tests of trainings share."""

from tests.worker.training.test_train_job import digits as digits
from tests.worker.training.test_train_job import trained as trained
