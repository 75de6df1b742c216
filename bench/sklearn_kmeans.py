"""k-means by scikit-learn, for `protogcd bench cluster --python`: a fit from k-means++, and Lloyd's algorithm from given centroids.

Protocol: prints one line "ready VERSION"; then, for each line on stdin, works and prints "SECONDS INERTIA ITERATIONS".
"fit SEED" is a whole fit with one start; "lloyd FILE.npy" begins with the centroids in the file.
"""
import argparse
import os
import sys
import time

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--features", required=True)
parser.add_argument("--k", type=int, required=True)
parser.add_argument("--threads", type=int, required=True)
options = parser.parse_args()
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = str(options.threads)  # read when the libraries are loaded

import numpy as np
import sklearn
from sklearn.cluster import KMeans

features = np.load(options.features)
KMeans(2, n_init=1, max_iter=2).fit(features[:1000])  # threads and libraries are awake now
print("ready", sklearn.__version__, flush=True)
for line in sys.stdin:
    work, argument = line.split()
    if work == "fit":
        model = KMeans(options.k, n_init=1, random_state=int(argument))
    else:
        model = KMeans(options.k, n_init=1, init=np.load(argument))
    start = time.perf_counter()
    model.fit(features)
    print(time.perf_counter() - start, model.inertia_, model.n_iter_, flush=True)
