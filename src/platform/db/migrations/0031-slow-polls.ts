import { Migration } from '@mikro-orm/migrations';

/** Gives each attempt the time of its next poll, so that attempts whose outcome stays unknown are polled rarely. */
export class Migration0031SlowPolls extends Migration {
  override up(): void {
    this.addSql(`set local lock_timeout = '5s'`);
    this.addSql('alter table chain_attempts add column poll_at timestamptz not null default app_now()');
    this.addSql('drop index chain_attempts_pending');
    this.addSql(`create index chain_attempts_pending on chain_attempts (poll_at) where state in ('signed', 'sent', 'confirmed')`);
  }

  override down(): void {
    this.addSql('drop index chain_attempts_pending');
    this.addSql(`create index chain_attempts_pending on chain_attempts (signed_at) where state in ('signed', 'sent', 'confirmed')`);
    this.addSql('alter table chain_attempts drop column poll_at');
  }
}
