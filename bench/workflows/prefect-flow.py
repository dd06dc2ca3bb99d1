# The peer's flow: the same processes, one after the other. Prints milliseconds a task.
import subprocess
import sys
import time

from prefect import flow, task


@task
def run(number):
    subprocess.run([sys.argv[1], "-I", "-c", "import time; time.sleep(0.01)"], check=True)
    return number


@flow(log_prints=False)
def chain(length):
    number = 0
    for _ in range(length):
        number = run(number)
    return number


chain(2)
began = time.monotonic()
chain(int(sys.argv[2]))
print((time.monotonic() - began) * 1000 / int(sys.argv[2]))
