import { Migration } from '@mikro-orm/migrations';

/** Creates the indexes of the lists of a wallet’s own rows and of the lines of game boards, and the table for the names that wallets chose. */
export class Migration0018Lists extends Migration {
  override up(): void {
    this.addSql(`set local lock_timeout = '5s'`);
    // Finds the score behind a line of a game board: the first score of a wallet in a game with a given normalized value, in a range of days. It also
    // holds the ids of all scores of a wallet, so that the list of these scores reads only the rows of its page. It replaces the index on the first two
    // columns, so that a new score still has one entry.
    this.addSql('drop index scores_wallet_game');
    this.addSql('create index scores_wallet_game on scores (wallet, game_id, normalized, day, id)');

    // The battles, chat entries, tickets and claims of a wallet, newest first. A ticket's entry has no numbers; `tickets` lists it.
    this.addSql('create index battle_seats_wallet on battle_seats (wallet, battle_id desc)');
    this.addSql('create index entries_chosen on entries (wallet, at desc, id desc) where cardinality(numbers) > 0');
    this.addSql('create index tickets_wallet on tickets (wallet, created_at desc, id desc)');
    this.addSql('create index claims_wallet on claims (wallet, created_at desc, id desc)');

    // The .sol name that a wallet chose to be shown with. At `checked_at` the name resolved to the wallet; a worker checks it again and again, because
    // names can be sold.
    this.addSql(`
      create table wallet_names (
        wallet wallet primary key,
        name text not null check (name <> ''),
        checked_at timestamptz not null default app_now()
      )`);
    this.addSql('create index wallet_names_checked_at on wallet_names (checked_at)');
  }

  override down(): void {
    this.addSql('drop table wallet_names');
    this.addSql('drop index claims_wallet, tickets_wallet, entries_chosen, battle_seats_wallet, scores_wallet_game');
    this.addSql('create index scores_wallet_game on scores (wallet, game_id)');
  }
}
