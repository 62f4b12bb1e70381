-- Calls have a row for each agent, model and tool together. Their sums by none and by one of these are kept too (100, 200, 300 and 400
-- more than the number of the metric), so that a question about them reads as many rows as it answers. A sum stays within the bound of a row.
WITH call AS (SELECT * FROM measure WHERE metric IN (5, 6)),
  kept AS (
    SELECT span, metric + 100 AS metric, start, '' AS agent, '' AS model, '' AS tool, amount FROM call
    UNION ALL SELECT span, metric + 200, start, agent, '', '', amount FROM call
    UNION ALL SELECT span, metric + 300, start, '', model, '', amount FROM call
    UNION ALL SELECT span, metric + 400, start, '', '', tool, amount FROM call)
INSERT INTO measure (span, metric, start, agent, model, tool, detail, amount)
  SELECT span, metric, start, agent, model, tool, '',
    CAST(max(-2305843009213693951, min(2305843009213693951, sum(amount >> 32) * 4294967296 + sum(amount & 4294967295))) AS INTEGER)
  FROM kept GROUP BY span, metric, start, agent, model, tool;
