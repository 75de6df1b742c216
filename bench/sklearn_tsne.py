"""t-SNE by scikit-learn, for `protogcd bench tsne --python`: its default settings at a given perplexity.

Protocol: prints one line "ready VERSION"; then, for each line "SEED FILE.npy" on stdin, works, writes the map [N, 2] to the file
and prints "SECONDS ITERATIONS".
"""
import argparse
import os
import sys
import time

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--features", required=True)
parser.add_argument("--perplexity", type=float, required=True)
parser.add_argument("--threads", type=int, required=True)
options = parser.parse_args()
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = str(options.threads)  # read when the libraries are loaded

import numpy as np
import sklearn
from sklearn.manifold import TSNE

features = np.load(options.features)
TSNE(perplexity=5, max_iter=250, n_jobs=options.threads).fit(features[:100])  # threads and libraries are awake now
print("ready", sklearn.__version__, flush=True)
for line in sys.stdin:
    seed, path = line.split(maxsplit=1)
    model = TSNE(perplexity=options.perplexity, n_jobs=options.threads, random_state=int(seed))
    start = time.perf_counter()
    result = model.fit_transform(features)
    seconds = time.perf_counter() - start
    np.save(path.strip(), result.astype(np.float32))
    print(seconds, model.n_iter_, flush=True)
