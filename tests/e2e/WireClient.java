import java.sql.*;
import java.util.*;

/** Asks the curator by JDBC: arguments are an address, a user and a password. */
public class WireClient {
    static final String ASKED =
        "DP-SELECT 5 dept, COUNT(*) AS n FROM visits WHERE dept <> ? AND age > ? GROUP BY dept";

    public static void main(String[] arguments) throws Exception {
        try (Connection client = DriverManager.getConnection(arguments[0], arguments[1], arguments[2])) {
            DatabaseMetaData about = client.getMetaData();
            list("tables", about.getTables(null, "public", "%", new String[] {"TABLE"}), "TABLE_NAME");
            list("columns", about.getColumns(null, "public", "visits", "%"), "COLUMN_NAME");
            list("keys", about.getPrimaryKeys(null, "public", "visits"), "COLUMN_NAME");
            list("schemas", about.getSchemas(), "TABLE_SCHEM");
            try (PreparedStatement statement = client.prepareStatement(ASKED)) {
                for (int round = 0; round < 6; round++) { // by name, and in binary, from the fifth on
                    statement.setString(1, "Law");
                    statement.setInt(2, 30 + round);
                    try (ResultSet rows = statement.executeQuery()) {
                        int count = 0;
                        Object last = null;
                        while (rows.next()) {
                            count++;
                            last = rows.getObject("n");
                        }
                        System.out.println("rows " + count + " " + last.getClass().getSimpleName());
                    }
                }
            }
            client.setAutoCommit(false);
            try (PreparedStatement statement = client.prepareStatement(ASKED)) {
                statement.setFetchSize(2);
                statement.setString(1, "Law");
                statement.setInt(2, 60);
                int count = 0;
                try (ResultSet rows = statement.executeQuery()) {
                    while (rows.next()) count++;
                }
                System.out.println("fetched " + count);
            }
            client.commit();
            client.setAutoCommit(true);
            for (String sql : List.of("DP-SELECT 1 patient_id FROM visits", "DP-SELECT 5000 COUNT(*) FROM visits")) {
                try (Statement statement = client.createStatement()) {
                    statement.executeQuery(sql);
                } catch (SQLException refused) {
                    System.out.println("refused " + refused.getSQLState());
                }
            }
        }
    }

    static void list(String what, ResultSet rows, String column) throws SQLException {
        StringBuilder line = new StringBuilder(what);
        while (rows.next()) line.append(" ").append(rows.getString(column));
        System.out.println(line);
    }
}
