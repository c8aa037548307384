"""SEGAR's code of 2022 once more, one entity after the other in plain Python: what the preset "compat" is held against.

Written from the description of that code, and from nothing of the package.
"""

from math import hypot, sqrt
from typing import Any

EPS, HEAVY = 1e-7, 1e8
TILES = {"SandTile": (0.4, 0.0), "MagmaTile": (0.1, 1.0), "FireTile": (0.0, 0.5), "Hole": (0.0, 0.0)}
SETTINGS = {
    "dt": 0.01, "low": -1.0, "high": 1.0, "friction": 0.05, "damping": 0.025, "gravity": 10.0, "min_mass": 0.1,
    "fastest": 10.0, "slowest": 1e-4,
}  # fmt: skip


class Fails(Exception):
    """The code of 2022 raises, or never ends."""


class World:
    """Objects and tiles as dicts; `step` changes the objects."""

    def __init__(self, objects: list[dict[str, Any]], tiles: list[dict[str, Any]], **settings: float) -> None:
        self.objects, self.tiles = objects, tiles
        self.set = SETTINGS | settings

    def step(self) -> None:
        self.round({"m", "a", "alive", "done", "visible", "mobile"})
        self.round({"v"})
        for one in self.objects:
            speed = hypot(*one["v"])
            if speed > self.set["fastest"]:
                one["v"] = [c / speed * self.set["fastest"] for c in one["v"]]
        self.motion(self.set["dt"])

    def round(self, group: set[str]) -> None:
        wanted: dict[tuple[int, str], list[tuple[str, Any]]] = {}
        for name, returns in self.rules():
            if returns & group:
                for k, one in enumerate(self.objects):
                    for factor, kind, value in getattr(self, name)(one):
                        wanted.setdefault((k, factor), []).append((kind, value))
        for (k, factor), outputs in wanted.items():
            one = self.objects[k]
            settings = [value for kind, value in outputs if kind == "set"]
            sums = [value for kind, value in outputs if kind == "sum"]
            changes = [value for kind, value in outputs if kind == "change"]
            if settings:
                if any(value != settings[0] for value in settings):
                    raise Fails("two settings")
                one[factor] = settings[0]
            elif sums:
                one[factor] = [sum(value[c] for value in sums) for c in (0, 1)]
            elif changes:
                one[factor] = [one[factor][c] + self.set["dt"] * sum(each[c] for each in changes) for c in (0, 1)]

    def rules(self) -> list[tuple[str, set[str]]]:
        return [
            ("lorentz", {"a"}),
            ("friction", {"a"}),
            ("burn", {"m"}),
            ("stop", {"v", "a"}),
            ("kill", {"m", "v", "a", "alive", "visible"}),
            ("consume", {"done", "visible", "mobile"}),
            ("accelerate", {"v"}),
        ]

    def lorentz(self, two: dict[str, Any]) -> Any:
        for one in self.objects:
            if one is two:
                continue
            if two["m"] == 0:
                yield "a", "sum", [0.0, 0.0]
                continue
            apart = [two["x"][c] - one["x"][c] for c in (0, 1)]
            relative = [two["v"][c] - one["v"][c] for c in (0, 1)]
            d, w = hypot(*apart), hypot(*relative)
            if d == 0:
                raise Fails("unit vector of zero")
            force = [one["q"] * two["q"] * apart[c] / d / d**2 for c in (0, 1)]
            if w > 0:
                turned = [-relative[1] / w, relative[0] / w]
                force = [force[c] + two["q"] * one["b"] * turned[c] / w for c in (0, 1)]
            yield "a", "sum", [force[c] / two["m"] for c in (0, 1)]

    def friction(self, one: dict[str, Any]) -> Any:
        speed = hypot(*one["v"])
        if speed < 1e-6:
            return
        top = self.top(one)
        for mu in [self.set["friction"], *([] if top is None else [top["mu"]])]:
            yield "a", "sum", [-one["v"][c] / speed * mu * self.set["gravity"] / one["m"] for c in (0, 1)]

    def burn(self, one: dict[str, Any]) -> Any:
        top = self.top(one)
        if top is not None and one["mobile"]:
            yield "m", "set", one["m"] * (1 - 0.1 * top["heat"])

    def stop(self, one: dict[str, Any]) -> Any:
        if not one["mobile"] or not one["alive"]:
            yield from (("v", "set", [0.0, 0.0]), ("a", "set", [0.0, 0.0]))

    def kill(self, one: dict[str, Any]) -> Any:
        if one["m"] < self.set["min_mass"]:
            yield from (("m", "set", 0.0), ("v", "set", [0.0, 0.0]), ("a", "set", [0.0, 0.0]))
            yield from (("alive", "set", False), ("visible", "set", False))

    def consume(self, one: dict[str, Any]) -> Any:
        top = self.top(one)
        if top is None or not one["mobile"] or not top["hole"] or top["corners"]:
            return
        if hypot(one["x"][0] - top["x"][0], one["x"][1] - top["x"][1]) <= top["r"] - one["r"]:
            yield from (("done", "set", True), ("visible", "set", False), ("mobile", "set", False))

    def accelerate(self, one: dict[str, Any]) -> Any:
        yield "v", "change", one["a"]

    def top(self, one: dict[str, Any]) -> dict[str, Any] | None:
        """The first tile by order, then insertion, that the object overlaps."""
        for tile in sorted(self.tiles, key=lambda each: each["order"]):
            away = [one["x"][c] - tile["x"][c] for c in (0, 1)]
            if tile["corners"]:
                turns = zip(tile["corners"], [*tile["corners"][1:], tile["corners"][0]], strict=True)
                if all((q[0] - p[0]) * (away[1] - p[1]) >= (q[1] - p[1]) * (away[0] - p[0]) for p, q in turns):
                    return tile
            elif hypot(*away) <= one["r"] + tile["r"] + EPS:
                return tile
        return None

    def motion(self, time: float) -> None:
        first = sorted(self.objects, key=lambda each: each["order"])
        while True:
            going = [hypot(*one["v"]) >= self.set["slowest"] for one in first]
            drifts = [one["v"] if goes else [0.0, 0.0] for one, goes in zip(first, going, strict=True)]
            self.shift(first, drifts, time)
            total, last = 0.0, None
            for _ in range(10_000):
                best, pair = 0.0, None
                for one in first:
                    t = self.back_from_wall(one)
                    if t > best:
                        best, pair = t, (one, None)
                    if one["done"] or not one["alive"]:
                        continue
                    for two in self.objects:
                        if two is not one and not two["done"] and two["alive"]:
                            t = self.back_from(one, two)
                            if t > best:
                                best, pair = t, (one, two)
                if pair is None:
                    break
                self.shift(first, drifts, -best)
                total, last = total + best, pair
            else:
                raise Fails("never ends")
            if last is None:
                return
            if not -1e-6 <= total < time + 1e-6:
                raise Fails("rollback out of bounds")
            self.bounce_off_wall(last[0]) if last[1] is None else self.bounce(*last)
            time = min(max(total, 0.0), time)

    def shift(self, objects: list[dict[str, Any]], drifts: list[list[float]], time: float) -> None:
        for one, drift in zip(objects, drifts, strict=True):
            one["x"] = [one["x"][c] + drift[c] * time for c in (0, 1)]

    def middle(self) -> float:
        return (self.set["low"] + self.set["high"]) / 2

    def back_from_wall(self, one: dict[str, Any]) -> float:
        half, speed, longest = (self.set["high"] - self.set["low"]) / 2, hypot(*one["v"]), 0.0
        for c in (0, 1):
            edge = abs(one["x"][c] - self.middle()) + one["r"]
            if edge >= half - EPS:
                if one["v"][c] == 0:
                    if edge > half:
                        raise Fails("division by zero")
                    continue
                longest = max(longest, (edge - half) * speed / abs(one["v"][c]))
        return (longest + EPS) / speed if longest > 0 else 0.0

    def back_from(self, one: dict[str, Any], two: dict[str, Any]) -> float:
        apart = [two["x"][c] - one["x"][c] for c in (0, 1)]
        relative = [one["v"][c] - two["v"][c] for c in (0, 1)]
        d, w, reach = hypot(*apart), hypot(*relative), one["r"] + two["r"] + EPS
        if d > reach or w == 0:
            return 0.0
        c = -(relative[0] * apart[0] + relative[1] * apart[1]) / w
        return (c + sqrt(c * c - d * d + reach * reach) + EPS) / w

    def bounce_off_wall(self, one: dict[str, Any]) -> None:
        away = [abs(one["x"][c] - self.middle()) for c in (0, 1)]
        signs = [-1.0 if away[c] == max(away) else 1.0 for c in (0, 1)]
        one["v"] = [one["v"][c] * (1 - self.set["damping"]) * signs[c] for c in (0, 1)]

    def bounce(self, one: dict[str, Any], two: dict[str, Any]) -> None:
        apart = [two["x"][c] - one["x"][c] for c in (0, 1)]
        d = hypot(*apart)
        n, t = [apart[0] / d, apart[1] / d], [-apart[1] / d, apart[0] / d]
        m1, m2 = (each["m"] if each["mobile"] else HEAVY for each in (one, two))
        va = [one["v"][c] * (1 + two["e"]) for c in (0, 1)]
        vb = [two["v"][c] * (1 + one["e"]) for c in (0, 1)]
        a, b = (v[0] * n[0] + v[1] * n[1] for v in (va, vb))
        along_a, along_b = (v[0] * t[0] + v[1] * t[1] for v in (va, vb))
        a, b = (a * (m1 - m2) + 2 * m2 * b) / (m1 + m2), (b * (m2 - m1) + 2 * m1 * a) / (m1 + m2)
        one["v"] = [a * n[c] + along_a * t[c] for c in (0, 1)]
        two["v"] = [b * n[c] + along_b * t[c] for c in (0, 1)]
        if one["infinite"]:
            one["e"] = two["e"] = 0.0
