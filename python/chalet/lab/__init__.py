"""Experiments: is something faster, and how sure is that?

    python -m chalet.lab experiment SPEC.toml      runs variants that differ in one thing, and gives a verdict
    python -m chalet.lab rerun FOLDER              the same again
    python -m chalet.lab verdict FILE.json         the verdict on measurements that were taken elsewhere
    python -m chalet.lab report FOLDER             all experiments below a folder, with what was retracted
    python -m chalet.lab calibrate                 how often the rules err on this machine
    python -m chalet.lab scan WORKLOAD.sql         what is worth an experiment, with the evidence
    python -m chalet.lab mechanisms                what each mechanism of the engine is worth, measured

docs/lab.md says how to work with it. It needs nothing beside chalet itself.
"""
