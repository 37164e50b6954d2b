import { z } from 'zod';
import { PaymentView } from '#areas/payouts';
import { archivedHeader, readPlayerMode, requirePlayer } from '#areas/points';
import { fail } from '#lib/errors.ts';
import { newId } from '#lib/ids.ts';
import { PageQuery } from '#lib/paging.ts';
import type { App } from '#platform/app.ts';
import { isoInstant, queryBuilder, run } from '#platform/db/query-builder.ts';
import { reply, route } from '#platform/http/route.ts';
import { WalletNotesTable } from '../entities.ts';
import { type Page, readEntries, readNotes, readQuestCompletions, readScores, readTickets } from './lists.ts';
import { readPayments, readPlayer } from './present.ts';
import { NoteRequest, NoteView, PlayerEntry, PlayerPath, PlayerQuest, PlayerScore, PlayerTicket, PlayerView } from './schemas.ts';

const MODERATION = { admin: 'moderation' } as const;

const getPlayer = route({
  method: 'get',
  path: '/admin/wallets/{wallet}',
  auth: MODERATION,
  summary: 'Read everything about one player',
  description:
    'Points by source, sanctions, linked accounts, and the newest rows of each list with the path of the whole list. 404: the wallet has never signed in.',
  params: PlayerPath,
  returns: { 200: PlayerView },
  fails: [404],
  handler: async ({ app, params }) => reply(200, await readPlayer(app, params.wallet)),
});

/** Returns the route of a list of a wallet. */
const listRoute = <Name extends string, Row extends z.ZodType>(
  name: Name,
  rows: string,
  schema: Row,
  read: (app: App, wallet: string, limit: number, offset: number) => Promise<Page<z.input<Row>>>,
) =>
  route({
    method: 'get',
    path: `/admin/wallets/{wallet}/${name}`,
    auth: MODERATION,
    summary: `List the ${rows} of a wallet`,
    description: 'Newest first. 404: the wallet has never signed in.',
    params: PlayerPath,
    query: PageQuery,
    returns: { 200: z.array(schema) },
    archived: name === 'scores',
    fails: [404],
    handler: async ({ app, params: { wallet }, query: { limit, offset } }) => {
      if ((await readPlayerMode(app.db, wallet)) === null) throw fail(404, 'the wallet has never signed in');
      const [page, archived] = await Promise.all([read(app, wallet, limit, offset), name === 'scores' ? archivedHeader(app.db) : {}]);
      return reply(200, page.rows, { 'X-Total-Count': String(page.total), ...archived });
    },
  });

const build = queryBuilder([WalletNotesTable]);

const postNote = route({
  method: 'post',
  path: '/admin/wallets/{wallet}/notes',
  auth: MODERATION,
  summary: 'Write a note about a wallet',
  description: 'Only operators can read notes. 404: the wallet has never signed in.',
  params: PlayerPath,
  body: NoteRequest,
  returns: { 201: NoteView },
  fails: [404],
  idempotent: true,
  handler: async ({ params: { wallet }, body: { text }, admin, once }) =>
    await once(async (tx) => {
      await requirePlayer(tx, wallet);
      const insert = build.insertInto('wallet_notes').values({ id: newId(), wallet, text, by: admin });
      const [note] = await run(tx, insert.returning(['id', 'text', 'by', isoInstant('at').as('at')]));
      if (!note) throw new Error('the note was not stored');
      return reply(201, note);
    }),
});

/** Endpoints that show one player, and write notes about a player. */
export const playerRoutes = [
  getPlayer,
  listRoute('scores', 'scores', PlayerScore, (app, ...page) => readScores(app.db, ...page)),
  listRoute('quests', 'completed quests', PlayerQuest, (app, ...page) => readQuestCompletions(app.db, ...page)),
  listRoute('entries', 'chat round entries', PlayerEntry, (app, ...page) => readEntries(app.db, ...page)),
  listRoute('tickets', 'legacy round tickets', PlayerTicket, (app, ...page) => readTickets(app.db, ...page)),
  listRoute('payments', 'payments', PaymentView, readPayments),
  listRoute('notes', 'notes', NoteView, (app, ...page) => readNotes(app.db, ...page)),
  postNote,
];
