import { batching } from '#lib/concurrency/batching.ts';
import { type App, type GaugeSample, perApp } from '#platform/app.ts';
import type { Statement } from '#platform/db/sql.ts';

/** Maximum rows that a gauge counts, so that a backlog does not make scrapes slow. */
export const MAX_COUNTED = 5_000;

/**
 * Returns the SQL that counts rows up to `MAX_COUNTED`.
 * @param rows the SQL after `from`: a table and its condition
 */
export const countRows = (rows: string): string => `(select count(*) from (select 1 from ${rows} limit ${MAX_COUNTED}) as counted)::float8`;

/** Returns the SQL for the age of a timestamp, seconds. @param column an SQL expression for the timestamp */
export const ageSeconds = (column: string): string => `extract(epoch from (select app_now()) - ${column})::float8`;

/** A row that a statement for gauges returns. */
export interface GaugeRow {
  /** Values by gauge name without the prefix `coinop_`. A null value is left out of the scrape. */
  readonly values: Readonly<Record<string, number | null>>;
  readonly labels?: Readonly<Record<string, string>>;
}

/** Runs the statements of all gauges one after the other, so that a scrape takes one connection of the pool and leaves the others to requests. */
const serialReads = perApp(() =>
  batching<() => Promise<void>>(
    async (reads) => {
      for (const read of reads) await read();
    },
    { maxSize: 1, maxConcurrent: 1 },
  ),
);

/** Queries rows for gauges. Statements of one application never run concurrently. */
export async function queryForGauges<Row>(app: App, statement: Statement<Row>, values: readonly unknown[] = []): Promise<Row[]> {
  let rows: Row[] = [];
  await app.state(serialReads)(async () => {
    rows = await app.db.query(statement, values);
  });
  return rows;
}

/** Runs a statement and converts its rows to gauge samples. */
export async function readSamples(app: App, statement: Statement<GaugeRow>, values: readonly unknown[] = []): Promise<GaugeSample[]> {
  return (await queryForGauges(app, statement, values)).flatMap((row) =>
    Object.entries(row.values).flatMap(([name, value]) =>
      value === null ? [] : { name: `coinop_${name}`, value, ...(row.labels ? { labels: row.labels } : {}) },
    ),
  );
}
