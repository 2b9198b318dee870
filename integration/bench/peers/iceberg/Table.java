import static org.apache.iceberg.types.Types.NestedField.optional;
import static org.apache.iceberg.types.Types.NestedField.required;

import java.io.FileReader;
import java.util.HashMap;
import java.util.Map;
import java.util.Properties;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.apache.iceberg.catalog.Namespace;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.jdbc.JdbcCatalog;
import org.apache.iceberg.types.Types;

/**
 * Makes the table shop.events in the catalog that a configuration of the sink names.
 *
 * <p>Usage: java -cp 'FOLDER/*' Table.java iceberg.properties
 */
class Table {
  private static final String PREFIX = "iceberg.catalog.";

  private static final Schema SCHEMA =
      new Schema(
          required(1, "event_id", Types.UUIDType.get()),
          required(2, "event_time", Types.TimestampType.withZone()),
          required(3, "user_id", Types.LongType.get()),
          required(4, "event_type", Types.StringType.get()),
          required(5, "url", Types.StringType.get()),
          required(6, "country", Types.StringType.get()),
          required(7, "price", Types.DoubleType.get()),
          required(8, "quantity", Types.IntegerType.get()),
          required(9, "session_id", Types.StringType.get()),
          required(
              10,
              "device",
              Types.StructType.of(
                  required(11, "os", Types.StringType.get()),
                  required(12, "version", Types.StringType.get()),
                  required(13, "model", Types.StringType.get()))),
          required(14, "tags", Types.ListType.ofRequired(15, Types.StringType.get())),
          optional(16, "referrer", Types.StringType.get()));

  public static void main(String[] args) throws Exception {
    Properties set = new Properties();
    try (FileReader r = new FileReader(args[0])) {
      set.load(r);
    }
    Map<String, String> of = new HashMap<>();
    set.forEach(
        (k, v) -> {
          if (k.toString().startsWith(PREFIX)) {
            of.put(k.toString().substring(PREFIX.length()), v.toString());
          }
        });
    of.remove("type");
    try (JdbcCatalog catalog = new JdbcCatalog()) {
      catalog.initialize("iceberg", of);
      catalog.createNamespace(Namespace.of("shop"));
      catalog.createTable(
          TableIdentifier.of("shop", "events"),
          SCHEMA,
          PartitionSpec.unpartitioned(),
          Map.of("write.parquet.compression-codec", "zstd", "write.parquet.compression-level", "1"));
    }
  }
}
