"""Rysia's form of a blueprint: the perceptron for MNIST, with all of Rysia's fields."""

from benchmarker import blueprint as bp

# --- layers ---
architecture = bp.model(
    bp.InputLayer(shape=(784,)),
    bp.FullyConnected(size=128, activation="relu"),
    bp.FullyConnected(size=64, activation="relu"),
    bp.FullyConnected(size=10, activation="linear"),
)

# --- hyperparameters ---
learning_rate = 0.01
epochs = 1
batch_size = 128
loss_function = "cross_entropy"
optimizer = "sgd"
optimizer_mode = "default"
state_sizes = None
train_seq_length = None
test_seq_length = None
truncated_backprop_length = None
reshape_input_data = [None]

# --- experiment ---
runs = 1
python_seed = 42
numpy_seed = 42
framework_seed = 42
monitors = []
mode = "training"
frameworks = ["mxnet", "tensorflow", "pytorch", "chainer"]

# --- cloud: only aws = False means anything here ---
aws = False
region_name = None
bucket_name = None
instance_types = []
job_name = "mnist"
ami_id = None
env_min_cpu = None
env_desired_cpu = None
env_max_cpu = None
subnets = []
security_group_ids = []
instance_role = None
service_role = None
account_id = None
container_images = []
job_def_names = []
job_num_vcpu = None
job_memory_size = None
tear_down_comp_env = False

# --- data: without files an epoch's samples are given by problem_size, which Rysia does not have ---
train_data_path = None
train_label_path = None
test_data_path = None
test_label_path = None
result_folder_path = "results"
model_params_path = None
problem_size = 59904
