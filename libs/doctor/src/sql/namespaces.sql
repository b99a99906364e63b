SELECT DISTINCT d.namespace FROM baton.workflow_definitions d
