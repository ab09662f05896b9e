"""How a style writes dates, times, hours and money: one spelling of each kind within one record."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Literal

__all__ = ["ClockFormat", "DateFormat", "Formats", "MoneyFormat"]

DateFormat = Literal["iso", "slashes", "dots", "day_month", "month_day", "day_mon", "mon_day", "chinese", "iso_weekday"]
ClockFormat = Literal["24h", "12h", "12h_dots", "h_mark", "chinese"]
MoneyFormat = Literal["dollar", "dollar_cents", "usd", "us_dollar", "words", "chinese"]

_MONTHS = (
    "January February March April May June July August September October November December".split()  # noqa: SIM905
)
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


@dataclass(frozen=True, slots=True)
class Formats:
    """The spellings that one record uses throughout."""

    date_format: DateFormat
    clock: ClockFormat
    money_format: MoneyFormat

    def date(self, day: dt.date) -> str:
        """A calendar day."""
        month = _MONTHS[day.month - 1]
        match self.date_format:
            case "iso":
                return f"{day.year:04d}-{day.month:02d}-{day.day:02d}"
            case "slashes":
                return f"{day.year}/{day.month:02d}/{day.day:02d}"
            case "dots":
                return f"{day.year}.{day.month:02d}.{day.day:02d}"
            case "day_month":
                return f"{day.day} {month} {day.year}"
            case "month_day":
                return f"{month} {day.day}, {day.year}"
            case "day_mon":
                return f"{day.day} {month[:3]} {day.year}"
            case "mon_day":
                return f"{month[:3]} {day.day}, {day.year}"
            case "chinese":
                return f"{day.year}年{day.month}月{day.day}日"
            case "iso_weekday":
                return f"{_DAYS[day.weekday()]} {day.year:04d}-{day.month:02d}-{day.day:02d}"

    def time(self, hour: int, minute: int = 0) -> str:
        """A time of day."""
        match self.clock:
            case "24h":
                return f"{hour:02d}:{minute:02d}"
            case "12h":
                return f"{_twelve(hour)}{_minutes(minute)} {'am' if hour < 12 else 'pm'}"
            case "12h_dots":
                return f"{_twelve(hour)}{_minutes(minute)} {'a.m.' if hour < 12 else 'p.m.'}"
            case "h_mark":
                return f"{hour}h{minute:02d}"
            case "chinese":
                return f"{hour}点" if minute == 0 else f"{hour}点{minute:02d}分"

    def moment(self, when: dt.datetime) -> str:
        """A day and a time."""
        time = self.time(when.hour, when.minute)
        joint = "" if self.date_format == "chinese" and self.clock == "chinese" else " "
        if self.date_format in ("day_month", "month_day", "day_mon", "mon_day"):
            joint = ", "
        return f"{self.date(when.date())}{joint}{time}"

    def money(self, cents: int) -> str:
        """An amount of dollars; cents are written where there are any."""
        whole, rest = divmod(cents, 100)
        plain = f"{whole}" if rest == 0 else f"{whole}.{rest:02d}"
        match self.money_format:
            case "dollar":
                return f"${plain}"
            case "dollar_cents":
                return f"${whole}.{rest:02d}"
            case "usd":
                return f"{plain} USD"
            case "us_dollar":
                return f"US${plain}"
            case "words":
                return f"{plain} dollars"
            case "chinese":
                return f"{plain}美元"

    def window(self, start: int, end: int, joint: str) -> str:
        """Hours of the day from start to end."""
        return f"{self.time(start)}{joint}{self.time(end)}"


def _twelve(hour: int) -> int:
    return hour % 12 or 12


def _minutes(minute: int) -> str:
    return f":{minute:02d}" if minute else ""
