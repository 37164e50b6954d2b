import { Migration } from '@mikro-orm/migrations';

/** Finds the ended attempts whose signed bytes are still stored, so that old bytes can be deleted. */
export class Migration0069EndedAttempts extends Migration {
  override up(): void {
    this.addSql(`create index chain_attempts_ended on chain_attempts (signed_at) where state in ('finalized', 'failed', 'dead') and bytes <> ''`);
  }

  override down(): void {
    this.addSql('drop index chain_attempts_ended');
  }
}
