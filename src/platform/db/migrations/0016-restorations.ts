import { Migration } from '@mikro-orm/migrations';

/** Creates the table for restored scores: scores whose void an operator has undone. */
export class Migration0016Restorations extends Migration {
  override up(): void {
    // A row holds the first void of a restored score, because `scores` then holds the restoration (or a second void) in its place. `points`: the points
    // that the score had before its void. A score is restored at most once, because the ledger has at most one row per score, wallet and reason.
    this.addSql(`
      create table score_restorations (
        score_id uuid primary key references scores,
        points int not null check (points >= 0),
        voided_at timestamptz not null,
        voided_by text not null,
        restored_at timestamptz not null,
        restored_by text not null,
        reason text not null
      )`);
  }

  override down(): void {
    this.addSql('drop table score_restorations');
  }
}
