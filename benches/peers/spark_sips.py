"""DP-SIPS in PySpark on one machine, without Python functions on the executors.

Two forms: `array` keeps one array of items per user (in order of priority), `window` keeps rows and ranks
them. Both shuffle the rows by user once, keep them cached, and collect what each round releases on the driver,
since a second evaluation would draw the noise again.
"""

from __future__ import annotations

from benches.parameters import MAX_ITEMS_PER_USER
from benches.peers import _harness
from benches.peers._rounds import sips_rounds

DRIVER_MEMORY = "6g"


def prepare(args):
    from pyspark.sql import SparkSession

    spark = (
        SparkSession.builder.master(f"local[{args.threads}]")
        .config("spark.driver.memory", DRIVER_MEMORY)
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", 8 * args.threads)
        .config("spark.sql.autoBroadcastJoinThreshold", -1)
        .config("spark.sql.adaptive.enabled", "false")
        # One hash table per task instead of a sort: a task has more users than the default allows.
        .config("spark.sql.objectHashAggregate.sortBased.fallbackThreshold", 1_000_000)
        .config("spark.log.level", "ERROR")
        .getOrCreate()
    )
    spark.range(1).count()  # the first job starts what is started lazily
    return spark, {"array": ArrayForm, "window": WindowForm}[args.form]


def job(path: str, prepared) -> int:
    from pyspark.sql import functions as f

    spark, form = prepared
    users = form(spark.read.parquet(path).select("user", "item"))
    released: list = []
    for sigma, threshold in sips_rounds():
        gone = spark.createDataFrame([(i,) for i in released], users.rows.select("item").schema) if released else None
        weights = users.bounded(gone).groupBy("item").agg(f.sum("weight").alias("weight"))
        found = weights.where(f.col("weight") + f.randn() * sigma >= threshold).select("item")
        released += [row.item for row in found.collect()]
    return len(released)


class WindowForm:
    """Distinct rows, partitioned by user; ranks and degrees by windows."""

    def __init__(self, rows):
        self.rows = rows.repartition("user").dropDuplicates(["user", "item"]).cache()

    def bounded(self, gone):
        """Rows of bounded users with their weight, without the items that are gone."""
        from pyspark.sql import Window
        from pyspark.sql import functions as f

        rows = self.rows if gone is None else self.rows.join(f.broadcast(gone), "item", "left_anti")
        ordered = Window.partitionBy("user").orderBy(f.xxhash64("user", "item"))
        rows = rows.withColumn("rank", f.row_number().over(ordered)).where(f.col("rank") <= MAX_ITEMS_PER_USER)
        degree = f.count("*").over(Window.partitionBy("user"))
        return rows.select("item", (1 / f.sqrt(degree)).alias("weight"))


class ArrayForm:
    """One array of distinct items per user, in order of priority."""

    def __init__(self, rows):
        from pyspark.sql import functions as f

        self.rows = rows
        keyed = f.struct(f.xxhash64("user", "item").alias("priority"), "item")
        ordered = f.sort_array(f.collect_set(keyed))
        self.users = rows.groupBy("user").agg(ordered["item"].alias("items")).cache()

    def bounded(self, gone):
        """Rows of bounded users with their weight, without the items that are gone."""
        from pyspark.sql import functions as f

        users = self.users
        if gone is not None:
            rows = users.select("user", f.posexplode("items").alias("position", "item"))
            rows = rows.join(f.broadcast(gone), "item", "left_anti")
            # The rows are still partitioned by user: this groups without a shuffle.
            ordered = f.sort_array(f.collect_list(f.struct("position", "item")))
            users = rows.groupBy("user").agg(ordered["item"].alias("items"))
        kept = f.slice("items", 1, MAX_ITEMS_PER_USER)
        weight = 1 / f.sqrt(f.size(kept))
        return users.select(weight.alias("weight"), f.explode(kept).alias("item"))


if __name__ == "__main__":
    _harness.run(job, prepare, form=("array", "window"))
