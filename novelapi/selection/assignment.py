"""Pairs rows with columns one to one at the least total cost (Kuhn 1955, Munkres 1957; shortest augmenting paths)."""

from __future__ import annotations

from collections.abc import Callable


def assign(rows: int, columns: int, cost: Callable[[int, int], int]) -> list[tuple[int, int]]:
    """Return pairs (row, column), by row; min(rows, columns) of them, at the least total cost.

    Args:
        rows: number of rows.
        columns: number of columns.
        cost: cost of a pair, at least 0.
    """
    if rows > columns:
        return sorted((row, column) for column, row in assign(columns, rows, lambda row, column: cost(column, row)))
    up, down = [0] * (rows + 1), [0] * (columns + 1)
    owner = [0] * (columns + 1)  # row of each column, from 1; 0: free
    for row in range(1, rows + 1):
        owner[0] = row
        least: list[float] = [float("inf")] * (columns + 1)
        before, done = [0] * (columns + 1), [False] * (columns + 1)
        at = 0
        while owner[at]:
            done[at] = True
            step, follower = float("inf"), 0
            for column in range(1, columns + 1):
                if done[column]:
                    continue
                reduced = cost(owner[at] - 1, column - 1) - up[owner[at]] - down[column]
                if reduced < least[column]:
                    least[column], before[column] = reduced, at
                if least[column] < step:
                    step, follower = least[column], column
            for column in range(columns + 1):
                if done[column]:
                    up[owner[column]] += int(step)
                    down[column] -= int(step)
                else:
                    least[column] -= step
            at = follower
        while at:
            owner[at] = owner[before[at]]
            at = before[at]
    return sorted((owner[column] - 1, column - 1) for column in range(1, columns + 1) if owner[column])
