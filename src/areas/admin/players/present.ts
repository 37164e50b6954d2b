import type { z } from 'zod';
import { listWalletPayments } from '#areas/payouts';
import { listLedgerEntries } from '#areas/points';
import { readBreakdown } from '#areas/profile';
import { listLinkedAccounts } from '#areas/social';
import { fail } from '#lib/errors.ts';
import type { App } from '#platform/app.ts';
import { instant, statement } from '#platform/db/sql.ts';
import { presentEntry } from '../ledger/schemas.ts';
import { type Page, readEntries, readNotes, readQuestCompletions, readScores, readTickets } from './lists.ts';
import type { PlayerView } from './schemas.ts';

/** Rows of each list in the view of a player. */
const NEWEST = 10;

const selectPlayer = statement<{ since: string; bannedAt: string | null; banReason: string | null }>(
  'admin_player',
  `select ${instant('created_at')} as since, ${instant('banned_at')} as "bannedAt", ban_reason as "banReason" from players where wallet = $1`,
);
const selectChatSanction = statement<{ bannedAt: string | null; mutedUntil: string | null; since: string; by: string }>(
  'admin_chat_sanction',
  `select ${instant('banned_at')} as "bannedAt", case when muted_until > (select app_now()) then ${instant('muted_until')} end as "mutedUntil",
     ${instant('changed_at')} as since, by
   from chat_sanctions where source = 'chat' and account = $1 and (banned_at is not null or muted_until > (select app_now()))`,
);

/** Reads the payments of a wallet as a page. */
export async function readPayments(app: App, wallet: string, limit: number, offset: number) {
  const { payments, total } = await listWalletPayments(app.db, wallet, limit, offset);
  return { rows: payments, total };
}

/**
 * Reads everything about one player that operators need.
 * @throws 404 when the wallet never signed in
 */
export async function readPlayer(app: App, wallet: string): Promise<z.input<typeof PlayerView>> {
  const { db } = app;
  const [player] = await db.query(selectPlayer, [wallet]);
  if (!player) throw fail(404, 'the wallet has never signed in');
  const [breakdown, links, [chat], scores, ledger, quests, entries, tickets, payments, notes] = await Promise.all([
    readBreakdown(app, wallet),
    listLinkedAccounts(db, wallet),
    db.query(selectChatSanction, [wallet]),
    readScores(db, wallet, NEWEST, 0),
    listLedgerEntries(db, { wallet }, NEWEST, 0),
    readQuestCompletions(db, wallet, NEWEST, 0),
    readEntries(db, wallet, NEWEST, 0),
    readTickets(db, wallet, NEWEST, 0),
    readPayments(app, wallet, NEWEST, 0),
    readNotes(db, wallet, NEWEST, 0),
  ]);
  const section = <Row>(name: string, { rows, total }: Page<Row>) => ({ total, newest: rows, list: `/admin/wallets/${wallet}/${name}` });
  const sanctions: z.input<typeof PlayerView>['sanctions'] = [];
  if (player.bannedAt) sanctions.push({ type: 'ban', since: player.bannedAt, until: null, reason: player.banReason, by: null });
  if (chat?.bannedAt) sanctions.push({ type: 'chat-ban', since: chat.bannedAt, until: null, reason: null, by: chat.by });
  if (chat?.mutedUntil) sanctions.push({ type: 'chat-mute', since: chat.since, until: chat.mutedUntil, reason: null, by: chat.by });
  return {
    wallet,
    memberSince: player.since,
    mode: breakdown.mode,
    points: { regular: breakdown.regular, beta: breakdown.beta },
    linkedAccounts: links.map(({ platform, handle, linkedAt }) => ({ platform, handle, linkedAt: new Date(linkedAt).toISOString() })),
    sanctions,
    scores: section('scores', scores),
    ledger: section('ledger', { rows: ledger.entries.map(presentEntry), total: ledger.total }),
    quests: section('quests', quests),
    entries: section('entries', entries),
    tickets: section('tickets', tickets),
    payments: section('payments', payments),
    notes: section('notes', notes),
  };
}
