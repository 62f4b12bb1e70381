-- Counts have a row for each agent and model together. Their totals are kept too (100 more than the number of the metric), and of calls
-- the sums by agent and model (500 more), so that a question about them reads about as many rows as it answers. A sum stays within
-- the bound of a row.
WITH kept AS (
    SELECT span, metric + 100 AS metric, start, '' AS agent, '' AS model, detail, amount FROM measure
    WHERE metric IN (1, 2, 8, 9, 10, 11, 12, 13, 14, 15)
    UNION ALL SELECT span, metric + 500, start, agent, model, '', amount FROM measure WHERE metric IN (5, 6))
INSERT INTO measure (span, metric, start, agent, model, tool, detail, amount)
  SELECT span, metric, start, agent, model, '', detail,
    CAST(max(-2305843009213693951, min(2305843009213693951, sum(amount >> 32) * 4294967296 + sum(amount & 4294967295))) AS INTEGER)
  FROM kept GROUP BY span, metric, start, agent, model, detail;
