import pg from 'pg';
import { parseMonth } from '#areas/points/history/index.ts';
import { type Config, readConfig } from '#config';
import { openStorage } from '#platform/storage/open.ts';
import { describeMonths, dropMonth, reopenMonth } from './months.ts';

const USAGE = `usage: bin/history [list] | reopen YYYY-MM | drop YYYY-MM

list     prints each closed month with its tables, rows and files (the default)
reopen   makes the newest closed month writable again and deletes its files; the service closes it again later
drop     reads all files of a detached month, compares them with its stored sums, and then drops its tables for ever`;

/** Runs one command. @returns the lines to print */
async function run(config: Config, command: string, month: number | null): Promise<readonly string[]> {
  const db = new pg.Client({ connectionString: config.database.migrationUrl, application_name: 'coinop-history' });
  const storage = openStorage(config.storage);
  await db.connect();
  try {
    if (month === null) return await describeMonths(db);
    return command === 'drop' ? await dropMonth(db, storage, month) : await reopenMonth(db, storage, month);
  } finally {
    storage.close();
    await db.end();
  }
}

const [command = 'list', text, ...rest] = process.argv.slice(2);
const month = text === undefined ? null : parseMonth(text);
const isKnown = command === 'list' ? text === undefined : ['reopen', 'drop'].includes(command) && month !== null && rest.length === 0;
if (isKnown) {
  try {
    for (const line of await run(readConfig(), command, month)) process.stdout.write(`${line}\n`);
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
    process.exitCode = 1;
  }
} else {
  process.stderr.write(`${USAGE}\n`);
  process.exitCode = 2;
}
