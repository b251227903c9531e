"""The line of every key and value of a TOML text, which the standard library's reader does not tell."""

from __future__ import annotations

import sys

from benchmarker.api.rules import Steps

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_BLANK = " \t\r"
_END_OF_BARE = ",]}\n#"


def key_lines(text: str) -> dict[Steps, int]:
    """Return the line, from 1, of each key, table and item of a list.

    Parameters
    ----------
    text : str
        Valid TOML; tables and lists of tables, dotted and quoted keys, inline tables and strings over
        several lines are all followed.

    Returns
    -------
    dict
        By names of tables and keys and positions in lists, e.g. ``("problem", "layers", 2, "size")``.
    """
    return _Scanner(text).scan()


class _Scanner:
    def __init__(self, text: str) -> None:
        self._text = text
        self._place = 0
        self._line = 1
        self._lines: dict[Steps, int] = {}
        self._tables: dict[Steps, int] = {}
        """Number of tables so far in each list of tables."""

    def scan(self) -> dict[Steps, int]:
        """Return the line of everything."""
        within: Steps = ()
        while self._skip_blank():
            if self._at("["):
                within = self._header()
            else:
                self._pair(within)
        return self._lines

    # --- characters --------------------------------------------------------------------------

    def _at(self, part: str) -> bool:
        return self._text.startswith(part, self._place)

    def _advance(self, count: int = 1) -> None:
        self._line += self._text.count("\n", self._place, self._place + count)
        self._place += count

    def _skip(self, characters: str) -> None:
        while self._place < len(self._text) and self._text[self._place] in characters:
            self._advance()

    def _skip_blank(self) -> bool:
        """Skip space, line ends and comments; tell whether anything follows."""
        while True:
            self._skip(_BLANK + "\n")
            if not self._at("#"):
                return self._place < len(self._text)
            end = self._text.find("\n", self._place)
            self._place = len(self._text) if end < 0 else end

    # --- keys --------------------------------------------------------------------------------

    def _keys(self, end: str) -> tuple[str, ...]:
        """Read a dotted key up to ``end``, which stays."""
        names = []
        while True:
            self._skip(_BLANK)
            names.append(self._key())
            self._skip(_BLANK)
            if self._at(end):
                return tuple(names)
            self._advance()  # the dot

    def _key(self) -> str:
        start = self._place
        if self._at('"') or self._at("'"):
            self._string()
            (name,) = tomllib.loads(f"{self._text[start : self._place]} = 0")
            return str(name)
        while self._text[self._place].isalnum() or self._text[self._place] in "-_":
            self._advance()
        return self._text[start : self._place]

    def _note(self, steps: Steps, line: int) -> None:
        for length in range(1, len(steps) + 1):
            self._lines.setdefault(steps[:length], line)

    # --- tables ------------------------------------------------------------------------------

    def _header(self) -> Steps:
        line, many = self._line, self._at("[[")
        self._advance(2 if many else 1)
        *parents, last = self._keys("]")
        self._advance(2 if many else 1)
        within: Steps = ()
        for name in parents:
            within = self._latest((*within, name))
        table: Steps = (*within, last)
        if many:
            self._tables[table] = self._tables.get(table, 0) + 1
        table = self._latest(table)
        self._note(table, line)
        return table

    def _latest(self, table: Steps) -> Steps:
        """Return the last of a list of tables, or the table if it is no list."""
        return (*table, self._tables[table] - 1) if table in self._tables else table

    # --- values ------------------------------------------------------------------------------

    def _pair(self, within: Steps) -> None:
        line = self._line
        steps = (*within, *self._keys("="))
        self._note(steps, line)
        self._advance()
        self._skip(_BLANK)
        self._value(steps)

    def _value(self, steps: Steps) -> None:
        self._note(steps, self._line)
        if self._at("["):
            self._list(steps)
        elif self._at("{"):
            self._inline_table(steps)
        elif self._at('"') or self._at("'"):
            self._string()
        else:
            while self._place < len(self._text) and self._text[self._place] not in _END_OF_BARE:
                self._advance()

    def _list(self, steps: Steps) -> None:
        self._advance()
        index = 0
        while self._skip_blank() and not self._at("]"):
            self._value((*steps, index))
            index += 1
            self._skip_blank()
            if self._at(","):
                self._advance()
        self._advance()

    def _inline_table(self, steps: Steps) -> None:
        self._advance()
        while self._skip_blank() and not self._at("}"):
            self._pair(steps)
            self._skip_blank()
            if self._at(","):
                self._advance()
        self._advance()

    def _string(self) -> None:
        quote = self._text[self._place]
        if not self._at(quote * 3):
            self._advance()
            while not self._at(quote):
                self._advance(2 if quote == '"' and self._at("\\") else 1)
            self._advance()
            return
        self._advance(3)
        while not self._at(quote * 3):
            self._advance(2 if quote == '"' and self._at("\\") else 1)
        self._advance(3)
        # A quotation mark or two may stand just before the closing three.
        self._skip(quote)
