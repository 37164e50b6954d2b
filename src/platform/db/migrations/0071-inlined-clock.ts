import { Migration } from '@mikro-orm/migrations';

const NOW = `clock_timestamp() + coalesce((select shift from app_clock), interval '0')`;
const DAY = 'floor(extract(epoch from app_now()) / 86400)::int';

/**
 * Makes `app_now()` cheap: its body reads no table any more, so PostgreSQL puts it into the statements that call it. The body of the function `app_shift` is the offset
 * of the clock. A trigger of `app_clock` replaces this function, and PostgreSQL then plans the statements of all sessions again.
 */
export class Migration0071InlinedClock extends Migration {
  override up(): void {
    this.addSql(`set local lock_timeout = '5s'`);
    // Volatile: PostgreSQL computes the result of an immutable function once, for a plan, and does not compute it again when the function is replaced.
    this.addSql(`create function app_shift() returns interval language sql volatile as $$ select interval '0' $$`);
    this.addSql(`
      create function set_app_shift() returns trigger language plpgsql security definer set search_path = public, pg_temp as $$
      declare wanted interval;
      begin
        perform pg_advisory_xact_lock(hashtextextended('app_shift', 0));
        wanted := coalesce((select shift from app_clock), interval '0');
        if wanted <> app_shift() then
          execute format('create or replace function app_shift() returns interval language sql volatile as $body$ select interval %L $body$', wanted);
        end if;
        return null;
      end $$`);
    this.addSql('revoke all on function set_app_shift() from public');
    this.addSql('create trigger set_app_shift after insert or update or delete on app_clock for each statement execute function set_app_shift()');
    this.addSql('create or replace function app_now() returns timestamptz language sql volatile as $$ select clock_timestamp() + app_shift() $$');
    this.addSql(`create or replace function app_day() returns int language sql volatile as $$ select ${DAY} $$`);
    // Only development has a row. The update makes the trigger copy it.
    this.addSql('update app_clock set shift = shift');
  }

  override down(): void {
    this.addSql(`set local lock_timeout = '5s'`);
    // Dropped before the functions read the table again, so that few statements wait for its lock.
    this.addSql('drop trigger set_app_shift on app_clock');
    for (const [head, body] of [
      ['app_now() returns timestamptz', NOW],
      ['app_day() returns int', DAY],
    ])
      this.addSql(`create or replace function ${head} language plpgsql volatile as $$ begin return ${body}; end $$`);
    this.addSql('drop function set_app_shift');
    this.addSql('drop function app_shift');
  }
}
