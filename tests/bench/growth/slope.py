"""The slope of a figure over the sizes at which it was measured (pure), and its lines."""

from collections.abc import Sequence
from dataclasses import dataclass

from tests.bench.table import Figures, number


@dataclass(frozen=True, slots=True)
class Growth:
    """A figure at several sizes of something, in rising order of the sizes."""

    figure: str
    of: str
    unit: str
    points: Sequence[tuple[float, float]]

    @property
    def slope(self) -> float:
        """How much the figure grows for each further one: least squares over the points; 0 for a single point."""
        sizes, values = [size for size, _ in self.points], [value for _, value in self.points]
        mean_size, mean_value = sum(sizes) / len(sizes), sum(values) / len(values)
        spread = sum((size - mean_size) ** 2 for size in sizes)
        if not spread:
            return 0.0
        return sum((size - mean_size) * (value - mean_value) for size, value in self.points) / spread


def add(figures: Figures, growth: Growth) -> None:
    """Print the points and the slope, and add them to the figures as `figure, 10 tables` and `figure: slope a table`."""
    for size, value in growth.points:
        figures.add(f"{growth.figure}, {size:g} {growth.of}", value, growth.unit)
    figures.add(f"{growth.figure}: slope by {growth.of}", growth.slope, growth.unit)
    values = "  ".join(f"{size:g}: {number(value)}" for size, value in growth.points)
    print(f"{growth.figure} ({growth.unit}) by {growth.of}:  {values};  {growth.slope:+.4g} each", flush=True)
