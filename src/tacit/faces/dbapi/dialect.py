"""SQLAlchemy's dialect: `tacit:///tacit.toml?analyst=ana`, or `tacit://:TOKEN@dp.example.org:8080`."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, Any

from sqlalchemy import types
from sqlalchemy.engine import default, reflection
from sqlalchemy.exc import ArgumentError, NoSuchTableError

from tacit.core import decimal_text, positive
from tacit.errors import InvalidParameter, UnknownName

if TYPE_CHECKING:
    from sqlalchemy.engine import URL, Connection

    from tacit.faces.catalogue import CatalogueTable

PRICE = "tacit_epsilon"  # an execution option: what this statement costs
_TYPES: dict[str, type[types.TypeEngine[Any]]] = {
    "integer": types.BigInteger,
    "number": types.Float,
    "boolean": types.Boolean,
    "date": types.Date,
    "timestamp": types.DateTime,
}
_OPTIONS = {"analyst", "epsilon", "delta", "timeout", "ca", "fingerprint", "tls"}


class TacitDialect(default.DefaultDialect):
    """Questions by SQLAlchemy. `execution_options(tacit_epsilon=0.1)` gives a statement its price."""

    name = "tacit"
    driver = "tacit"
    default_paramstyle = "qmark"
    supports_statement_cache = True
    supports_native_boolean = True
    supports_alter = False
    supports_default_values = False
    supports_sane_rowcount = False
    insert_returning = update_returning = delete_returning = False
    max_identifier_length = 128

    @classmethod
    def import_dbapi(cls) -> ModuleType:
        """The module of PEP 249."""
        from tacit.faces import dbapi

        return dbapi

    def create_connect_args(self, url: URL) -> tuple[list[Any], dict[str, Any]]:
        """Where to connect, of a URL: a policy's path, or a server's address with the token as password."""
        unknown = set(url.query) - _OPTIONS
        if unknown:
            raise ArgumentError(
                f"tacit:// has no option {', '.join(sorted(unknown))}: it has {', '.join(sorted(_OPTIONS))}"
            )
        options: dict[str, Any] = {name: value for name, value in url.query.items() if name != "tls"}
        if "timeout" in options:
            options["timeout"] = float(str(options["timeout"]))
        if not url.host:
            return [url.database or "tacit.toml"], options
        scheme = "http" if url.query.get("tls") == "off" else "https"
        port = f":{url.port}" if url.port else ""
        return [f"{scheme}://{url.host}{port}"], {**options, "token": url.password}

    def do_execute(self, cursor: Any, statement: str, parameters: Any, context: Any = None) -> None:
        """Ask; with the price that the execution options give."""
        price = None if context is None else context.execution_options.get(PRICE)
        if price is not None and statement[:7].upper() == "SELECT ":
            try:
                epsilon = decimal_text(positive(price, PRICE))
            except InvalidParameter as error:
                raise ArgumentError(error.message) from None
            statement = f"DP-SELECT {epsilon} {statement[7:]}"
        cursor.execute(statement, parameters or ())

    def do_ping(self, dbapi_connection: Any) -> bool:
        """Whether the connection is good: nothing is asked for that."""
        return not dbapi_connection.closed

    def _get_server_version_info(self, connection: Connection) -> tuple[int, ...]:
        from importlib.metadata import version

        return tuple(int(part) for part in version("tacit").split(".") if part.isdigit())

    def _get_default_schema_name(self, connection: Connection) -> str:
        return "public"

    def get_isolation_level(self, dbapi_connection: Any) -> Any:
        """SERIALIZABLE: every question sees one state of the data."""
        return "SERIALIZABLE"

    def get_default_isolation_level(self, dbapi_conn: Any) -> Any:
        """SERIALIZABLE, which is the only level there is."""
        return "SERIALIZABLE"

    @reflection.cache
    def get_schema_names(self, connection: Connection, **kw: Any) -> list[str]:
        """`public`, the only schema: tables have no other."""
        return ["public"]

    @reflection.cache
    def get_table_names(self, connection: Connection, schema: str | None = None, **kw: Any) -> list[str]:
        """The tables that may be asked about."""
        return [table.name for table in _schema(connection)] if schema in {None, "public"} else []

    @reflection.cache
    def get_view_names(self, connection: Connection, schema: str | None = None, **kw: Any) -> list[str]:
        """An empty list: views are listed among the tables."""
        return []

    @reflection.cache
    def get_columns(self, connection: Connection, table_name: str, schema: str | None = None, **kw: Any) -> Any:
        """The public columns of a table, with what the policy says of them as comments."""
        table = _table(connection, table_name, schema)
        return [
            {
                "name": column.name,
                "type": _TYPES.get(column.type, types.Text)(),
                "nullable": True,
                "default": None,
                "comment": "; ".join(filter(None, (column.known, column.description))) or None,
            }
            for column in table.columns
        ]

    @reflection.cache
    def get_table_comment(self, connection: Connection, table_name: str, schema: str | None = None, **kw: Any) -> Any:
        """Whom the table hides, and how it is described."""
        table = _table(connection, table_name, schema)
        hides = f"hides {table.hides}" if table.hides else "public"
        return {"text": "; ".join(filter(None, (table.description, hides)))}

    @reflection.cache
    def has_table(self, connection: Connection, table_name: str, schema: str | None = None, **kw: Any) -> bool:
        """Whether a table may be asked about."""
        try:
            _table(connection, table_name, schema)
        except NoSuchTableError:
            return False
        return True

    def get_pk_constraint(self, connection: Connection, table_name: str, schema: str | None = None, **kw: Any) -> Any:
        """No column: which of them tell rows apart is not told."""
        return {"constrained_columns": [], "name": None}

    def get_foreign_keys(self, connection: Connection, table_name: str, schema: str | None = None, **kw: Any) -> Any:
        """An empty list: the policy's links are for joins, and not told as keys."""
        return []

    def get_indexes(self, connection: Connection, table_name: str, schema: str | None = None, **kw: Any) -> Any:
        """An empty list: what the engine has indexed is not told."""
        return []


def _schema(connection: Connection) -> Any:
    return connection.connection.dbapi_connection.database.schema  # type: ignore[union-attr]  # ours


def _table(connection: Connection, name: str, schema: str | None) -> CatalogueTable:
    if schema in {None, "public"}:
        try:
            table: CatalogueTable = _schema(connection).table(name)
        except UnknownName:
            pass
        else:
            return table
    raise NoSuchTableError(name)
