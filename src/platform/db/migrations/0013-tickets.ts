import { Migration } from '@mikro-orm/migrations';

/** Creates the table for tickets of legacy lottery rounds. */
export class Migration0013Tickets extends Migration {
  override up(): void {
    // A requested ticket. The lottery entry of the ticket gets the same id. States:
    //   `checking`: The worker polls the payment transaction (`signature`) until the transaction is finalized or can never land.
    //   `confirmed`: The ticket counts, and its entry exists.
    //   `refused`: The ticket does not count, for the reason in `reason`.
    //   `refunded`: The ticket counted, and then its round was voided.
    // Columns:
    //   `found`: for a refused ticket, whether its payment transaction is finalized. If it is finalized, the refusal is permanent; otherwise the
    //   wallet may request the ticket again.
    //   `signature`: the signature of the payment transaction; null for a free ticket.
    //   `refunds`: the amounts that are owed back to the wallet, as a list of { payment, currency, amount }.
    //   `asked_at`: the time at which the polling began.
    // The unique key contains the wallet, so that a wallet cannot block the ticket of another wallet by naming the same transaction.
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
    // A transaction pays for at most one ticket, across all rounds and wallets.
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
