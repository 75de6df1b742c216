"""What processes of the tests' own run."""
import protogcd


def child_of_a_fork(queue):
    try:
        protogcd.kmeans([[0.0], [1.0], [5.0]], 2)
        queue.put("no error")
    except protogcd.ForkError as error:
        queue.put(str(error))


def child_by_spawn(run, file, queue):
    try:
        queue.put(list(protogcd.Model.load(run).predict([file]).label))
    except Exception as error:
        queue.put(repr(error))
