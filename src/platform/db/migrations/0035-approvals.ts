import { Migration } from '@mikro-orm/migrations';

/** Creates the approvals of actions that need a second token, and lets an import wait for its approval. */
export class Migration0035Approvals extends Migration {
  override up(): void {
    this.addSql(`set local lock_timeout = '5s'`);
    // A row is an action that one token requested and another token must approve. `payload` is what the action needs. The action runs in the
    // transaction that sets the state to `approved`, so it runs once.
    this.addSql(`
      create table approvals (
        id uuid primary key,
        kind text not null check (kind in ('import', 'grant', 'limit')),
        state text not null default 'pending' check (state in ('pending', 'approved', 'refused')),
        amount numeric not null,
        summary text not null,
        payload jsonb not null,
        requested_by text not null,
        requested_at timestamptz not null default app_now(),
        decided_by text,
        decided_at timestamptz,
        check ((state = 'pending') = (decided_at is null)),
        check ((state = 'pending') = (decided_by is null)),
        check (decided_by <> requested_by or state = 'refused')
      )`);
    this.addSql('create index approvals_listed on approvals (state, id)');
    // The sum of the amounts that a token used on a day without an approval, so that many small actions need an approval as one large action does.
    this.addSql(`
      create table approval_sums (
        day int not null, kind text not null, token text not null, amount numeric not null,
        primary key (day, kind, token)
      )`);
    // `waiting`: the import waits for the approval of a second token; its epoch is not created yet.
    this.addSql('alter table reward_imports drop constraint reward_imports_state_check, drop constraint reward_imports_check');
    this.addSql(`alter table reward_imports add check (state in ('waiting', 'building', 'done', 'refused'))`);
    this.addSql(`alter table reward_imports add check ((state in ('waiting', 'building')) = (decided_at is null))`);
  }

  /** Fails while an import waits for its approval. */
  override down(): void {
    this.addSql('alter table reward_imports drop constraint reward_imports_state_check, drop constraint reward_imports_check');
    this.addSql(`alter table reward_imports add check (state in ('building', 'done', 'refused'))`);
    this.addSql(`alter table reward_imports add check ((state = 'building') = (decided_at is null))`);
    this.addSql('drop table approval_sums, approvals');
  }
}
