import { Migration } from '@mikro-orm/migrations';

/** Returns the SQL that replaces the functions `app_now` and `app_day`. @param body returns the body of a function that returns an expression */
const clock = (language: 'sql' | 'plpgsql', body: (expression: string) => string) => [
  `create or replace function app_now() returns timestamptz language ${language} volatile as
   $$ ${body(`clock_timestamp() + coalesce((select shift from app_clock), interval '0')`)} $$`,
  `create or replace function app_day() returns int language ${language} volatile as
   $$ ${body('floor(extract(epoch from app_now()) / 86400)::int')} $$`,
];

/**
 * Makes the clock functions and the outbox cheaper. PostgreSQL prepares the body of an SQL function again in each statement that calls the function,
 * and the body of a PL/pgSQL function once per connection. Payloads in the outbox are stored uncompressed, because they are read once, within a second.
 */
export class Migration0066QuickClock extends Migration {
  override up(): void {
    this.addSql(`set local lock_timeout = '5s'`);
    for (const sql of clock('plpgsql', (expression) => `begin return ${expression}; end`)) this.addSql(sql);
    this.addSql('alter table outbox alter column payload set storage external');
  }

  override down(): void {
    for (const sql of clock('sql', (expression) => `select ${expression}`)) this.addSql(sql);
    this.addSql('alter table outbox alter column payload set storage extended');
  }
}
