/** A corruption that a check must find: the check, the SQL that corrupts the database (in a transaction that is rolled back, without triggers), and the expected sentence. */
export type Corruption = readonly [check: string, sql: string, sentence: RegExp];

/** SQL: one row of a table. */
export const one = (table: string, where = 'true') => `(tableoid, ctid) = (select tableoid, ctid from ${table} where ${where} limit 1)`;
export const HOURS_AGO = `app_now() - interval '3 hours'`;
