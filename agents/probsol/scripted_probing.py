"""How the scripted player of discovery tells discs apart: by experiments that people wrote, from what anybody sees."""

from collections.abc import Generator, Sequence

from gumption.envs.probsol.engine import PUT_DOWN, TAKE_UP, TURN, TURN_BACK
from gumption.envs.probsol.magnets import RADIUS, TABLE
from gumption.envs.probsol.tasks import CELL, CONSTRAINTS, GRID
from gumption.envs.probsol.vector_env import ProbSolVectorEnv

#: What one table's strategy gives: an action, or a name and its arguments. It goes on once the action is done.
Script = Generator[int | tuple[object, ...], None, None]
#: Columns of the grid where the probed disc is put down and where the other one is held: near, and far; their row.
NEAR, FAR, ROW = (18, 15), (15, 1), 19
#: Actions that a trial keeps for a probe and for the answer.
KEPT = 32
Look = tuple[float, ...]


class Probing:
    """Probes the discs of one table that is otherwise empty, and leaves the answer on it.

    A probe puts a disc down and holds another one beside it: where the first one goes, and for how long, is a look.
    Discs that are alike look alike to the last bit, since the physics is deterministic. Others may look alike where
    they run into the edge, or into the disc that is held; so those that look alike are looked at in another way: from
    farther off, beside a disc that repels them, or turned half round.
    """

    def __init__(self, batch: ProbSolVectorEnv, i: int) -> None:
        self.batch, self.i, self.task, self.tables = batch, i, batch.task(i), batch.tables
        self.mine = [self.task.ids.index(one) for one in self.task.first_stored]
        self.last = batch.labels.num_actions
        self.looks: dict[tuple[int, int, bool, int], Look | None] = {}
        self._turned: set[int] = set()  # discs that are turned to the direction of the row, `_base`
        # Where the ends of the row lie in the dark, the probes are made along the column.
        row = [ROW * GRID + column for column in range(1, GRID - 1)]
        self._down = not self.tables.data.allowed[self.tables.rows[i]][row].all()
        self._base = 6 if self._down else 0

    def script(self) -> Script:
        """The actions, up to CHECK."""
        first, *others = self.mine
        groups: list[list[int]] = []
        yield from self._look_at(others, first)
        for same in self._alike(others, first):
            yield from self._refine(same, first, others, groups)
        groups.sort(key=len, reverse=True)
        yield from self._place_first(first, others, groups)
        alike = max(groups, key=len)
        leave = alike if self.task.family == "FindTheSame" else [disc for disc in self.mine if disc not in alike]
        for disc, at in zip(leave, self._spots(len(leave)), strict=False):
            yield disc
            yield ("place", *at)
        yield ("check",)

    def _refine(self, same: Sequence[int], by: int, others: Sequence[int], groups: list[list[int]]) -> Script:
        """Look again at discs that look alike beside `by`, in other ways; adds the groups that are left."""
        found = [list(same)]
        look = self.looks.get((same[0], by, False, 0))
        if len(same) > 1 and look is not None and look[0] < self._x(NEAR[0]):  # pulled: another one may repel them
            pulled = [disc for disc in others if self._pulled(disc, by)]
            found = yield from self._split(found, pulled, False, 0)
            if any(len(group) > 1 and self._pulled(group[0], group[1]) for group in found):
                found = yield from self._split(found, [by], False, 4)
        elif len(same) > 1 and look is not None and look[0] >= TABLE - RADIUS - 1:
            found = yield from self._split(found, [by], True, 0)
        groups += found

    def _split(
        self, groups: Sequence[list[int]], by: Sequence[int], far: bool, turned: int
    ) -> Generator[int | tuple[object, ...], None, list[list[int]]]:
        """The groups, after a look at each disc of those with several: beside the first of `by` that does not pull
        them, or beside one another."""
        found: list[list[int]] = []
        for group in groups:
            seen: dict[Look | None, list[int]] = {}
            common = None
            for one in by if len(group) > 1 else ():
                if one not in group:
                    yield from self._probe(group[0], one, far, turned)
                    look = self.looks[group[0], one, far, turned]
                    if far or turned or (look is not None and look[0] >= self._x(NEAR[0])):
                        common = one
                        break
            for disc in group if len(group) > 1 else ():
                beside = self._other(disc, group) if common is None else common
                yield from self._probe(disc, beside, far, turned)
                look = self.looks[disc, beside, far, turned]
                if look is not None and look[0] >= TABLE - RADIUS - 1 and not far:
                    yield from self._probe(disc, beside, True, turned)
                    look = (*look, *(self.looks[disc, beside, True, turned] or ()))
                seen.setdefault(look, []).append(disc)
            found += seen.values() if seen else [group]
        return found

    def _place_first(self, first: int, others: Sequence[int], groups: list[list[int]]) -> Script:
        """Put the disc that the others were probed beside into a group, or into one of its own."""
        several = [group for group in groups if len(group) > 1]
        for group in several[:1] or list(groups):
            by = next(disc for disc in (*group[1:], *others) if disc != group[0])
            yield from self._look_at([first, group[0]], by)
            pair: list[list[int]] = []
            if len(self._alike([first, group[0]], by)) == 1:
                yield from self._refine([first, group[0]], by, [*others, first], pair)
            if len(pair) == 1:
                group.append(first)
                return
        groups.append([first])

    def _look_at(self, discs: Sequence[int], by: int) -> Script:
        for disc in discs:
            yield from self._probe(disc, by, False, 0)

    def _alike(self, discs: Sequence[int], by: int) -> list[list[int]]:
        """The discs in groups that look alike beside `by`."""
        seen: dict[Look | None, list[int]] = {}
        for disc in discs:
            seen.setdefault(self.looks[disc, by, False, 0], []).append(disc)
        return list(seen.values())

    def _pulled(self, disc: int, by: int) -> bool:
        look = self.looks.get((disc, by, False, 0))
        return look is not None and look[0] < self._x(NEAR[0])

    @staticmethod
    def _other(disc: int, by: Sequence[int]) -> int:
        return next((one for one in by if one != disc), by[0])

    # ---- one probe

    def _probe(self, disc: int, by: int, far: bool, turned: int) -> Script:
        """Put a disc down, turned by so many eighths, and hold another one beside it; both go back to their cells."""
        key = disc, by, far, turned
        if key in self.looks or disc == by:
            self.looks.setdefault(key, None)
            return
        if self._left() < KEPT:
            limit = self.tables.data.limits[self.tables.rows[self.i], CONSTRAINTS.index("trial_number")]
            if self.tables.trials[self.i] >= limit:
                self.looks[key] = None
                return
            yield ("check",)  # the next trial has actions of its own
            self._turned.clear()
        put, held = FAR if far else NEAR
        if by not in self._turned:
            yield from self._held_turned(by, held, 0)
            yield self.last + TAKE_UP
            yield self._cell(by)
        yield from self._held_turned(disc, put, turned)
        yield self.last + PUT_DOWN
        yield by
        before = int(self.tables.steps[self.i])
        yield self._hold(held)
        x, y = self.tables.place[self.i, disc].tolist()
        x, y = (y, x) if self._down else (x, y)
        self.looks[key] = round(x, 3), round(y, 3), int(self.tables.steps[self.i]) - before
        yield self.last + TAKE_UP
        yield self._cell(by)
        yield ("grab", self.task.ids[disc])
        yield self._cell(disc)

    def _held_turned(self, disc: int, column: int, eighths: int) -> Script:
        """Grab a stored disc, and hold it turned by so many eighths."""
        yield disc
        yield self._hold(column)
        turns = (self._base + eighths - int(self.tables.theta[self.i, disc])) % 8
        for _ in range(min(turns, 8 - turns)):
            yield self.last + (TURN if turns <= 4 else TURN_BACK)
        (self._turned.add if eighths == 0 else self._turned.discard)(disc)

    def _hold(self, column: int) -> tuple[object, ...]:
        return ("hold_at", ROW, column) if self._down else ("hold_at", column, ROW)

    def _left(self) -> int:
        used = self.tables.actions[self.i] + self.tables.refused[self.i]
        return self.batch.settings.max_actions - int(used)

    def _cell(self, disc: int) -> tuple[object, ...]:
        stored = self.task.objects[disc].stored
        assert stored is not None
        return "store", stored

    def _spots(self, many: int) -> list[tuple[int, int]]:
        """Points far from one another where discs may lie."""
        allowed = self.tables.data.allowed[self.tables.rows[self.i]]
        spots = [(column, row) for row in (5, 34, 20) for column in (5, 34, 20)]
        return [(column, row) for column, row in spots if allowed[row * GRID + column]][:many]

    @staticmethod
    def _x(column: int) -> float:
        return column * CELL + CELL / 2
