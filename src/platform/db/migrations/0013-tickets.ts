import { Migration } from '@mikro-orm/migrations';

/** Tickets of legacy rounds. */
export class Migration0013Tickets extends Migration {
  override up(): void {
    // A ticket that was asked for. Its id is that of its entry, where it counts:
    //   checking   paid by `signature`, which is looked at until it is final, or can no longer be
    //   confirmed  it counts: there is an entry
    //   refused    it does not, see `reason`. found: the transaction is final, and this stays so; else it may be asked for again
    //   refunded   it counted, and its round was void
    // signature: null where tickets are free. One row for a wallet and a transaction, so that nobody else's naming it is in the way.
    // refunds: [{ payment, currency, amount }], what was paid and is owed back. asked_at: since when it is looked for.
    this.addSql(`
      create table tickets (
        id uuid primary key,
        round uuid not null references rounds,
        wallet wallet not null,
        signature text collate "C",
        state text not null check (state in ('checking', 'confirmed', 'refused', 'refunded')),
        found boolean not null default false,
        reason text,
        refunds jsonb not null default '[]',
        asked_at timestamptz not null default app_now(),
        next_at timestamptz not null default app_now() + interval '500 milliseconds',
        created_at timestamptz not null default app_now(),
        decided_at timestamptz,
        unique (signature, wallet),
        check ((state = 'refused') = (reason is not null)),
        check ((state = 'checking') = (decided_at is null)),
        check (state = 'confirmed' or signature is not null)
      ) with (fillfactor = 70)`);
    this.addSql(`create index tickets_due on tickets (next_at) where state = 'checking'`);
    this.addSql(`create index tickets_checking on tickets (wallet) where state = 'checking'`);
    this.addSql(`create index tickets_settling on tickets (round, asked_at) where state = 'checking'`);
    this.addSql(`create index tickets_confirmed on tickets (round, id) where state = 'confirmed'`);
    // A transaction pays for one ticket, ever, of whatever round and wallet.
    this.addSql(`create unique index tickets_paid_by on tickets (signature) where state in ('confirmed', 'refunded')`);
    this.addSql(`
      create function guard_ticket() returns trigger language plpgsql as $$ begin
        if (new.id, new.round, new.wallet, new.signature) is distinct from (old.id, old.round, old.wallet, old.signature)
        then raise exception 'what ticket % is, and whose, never changes', old.id using errcode = 'restrict_violation'; end if;
        if (old.state = 'refunded' or (old.state = 'refused' and old.found)) or (old.state = 'confirmed' and new.state <> 'refunded')
        then raise exception 'ticket % is decided', old.id using errcode = 'restrict_violation'; end if;
        return new;
      end $$`);
    this.addSql(`create trigger tickets_guarded before update on tickets for each row execute function guard_ticket()`);
    this.addSql(`create trigger tickets_kept before delete on tickets for each row execute function refuse_change()`);
  }
}
