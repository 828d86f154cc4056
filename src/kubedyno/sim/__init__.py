"""Simulated GPU clusters: node pools as API objects, and the stages by which their kubelets behave.

Nothing here measures, submits or schedules.
"""
