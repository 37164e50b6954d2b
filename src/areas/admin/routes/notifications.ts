import { sql } from 'kysely';
import { z } from 'zod';
import { requirePlayer } from '#areas/points';
import { newId } from '#lib/ids.ts';
import { PageQuery } from '#lib/paging.ts';
import { Id, Instant, line, Wallet } from '#lib/scalars.ts';
import { isoInstant, queryBuilder, run } from '#platform/db/query-builder.ts';
import { reply, route } from '#platform/http/route.ts';
import { NotificationsTable } from '../entities.ts';
import { notification } from '../events.ts';

const EXAMPLE = { title: 'Maintenance', text: 'The arcade pauses at 18:00 UTC for ten minutes.', link: 'https://coinop.example/status' };

const NotificationRequest = z
  .strictObject({
    wallet: Wallet.nullable()
      .default(null)
      .meta({ description: 'The wallet that gets the notification; everybody when null or absent.', example: null }),
    title: line(120),
    text: line(1_000),
    link: z
      .url({ protocol: /^https$/, error: 'must be an https URL' })
      .max(500)
      .nullable()
      .default(null),
  })
  .meta({ id: 'NotificationRequest', example: EXAMPLE });
const NotificationView = z
  .strictObject({
    id: Id,
    wallet: z.string().nullable(),
    title: z.string(),
    text: z.string(),
    link: z.string().nullable(),
    by: z.string().meta({ description: 'Name of the admin token.' }),
    at: Instant,
  })
  .meta({ id: 'Notification', example: { ...EXAMPLE, id: Id.meta()?.example, wallet: null, by: 'admin-1', at: '2026-11-21T12:00:00.000Z' } });

const build = queryBuilder([NotificationsTable]);
const COLUMNS = ['id', 'wallet', 'title', 'text', 'link', 'by', isoInstant('at').as('at')] as const;

const postNotification = route({
  method: 'post',
  path: '/admin/notifications',
  auth: { admin: 'content' },
  summary: 'Send a notification to everybody or to one wallet',
  description: 'Sends the event `notification` to the open streams. 404: the wallet has never signed in.',
  body: NotificationRequest,
  returns: { 201: NotificationView },
  fails: [404],
  idempotent: true,
  handler: async ({ body: { wallet, ...message }, admin, once }) =>
    await once(async (tx) => {
      if (wallet !== null) await requirePlayer(tx, wallet);
      const [sent] = await run(
        tx,
        build
          .insertInto('notifications')
          .values({ id: newId(), wallet, ...message, by: admin })
          .returning(COLUMNS),
      );
      if (!sent) throw new Error('the notification was not stored');
      tx.emit(notification, { id: sent.id, ...message }, ...(wallet === null ? [] : [wallet]));
      return reply(201, sent);
    }),
});

const getNotifications = route({
  method: 'get',
  path: '/admin/notifications',
  auth: { admin: 'content' },
  summary: 'List the notifications that operators sent',
  description: 'Newest first.',
  query: PageQuery,
  returns: { 200: z.array(NotificationView) },
  fails: [],
  handler: async ({ app, query: { limit, offset } }) => {
    const [rows, [count]] = await Promise.all([
      run(app.db, build.selectFrom('notifications').select(COLUMNS).orderBy('id', 'desc').limit(limit).offset(offset)),
      run(app.db, build.selectFrom('notifications').select(sql<number>`count(*)::int`.as('n'))),
    ]);
    return reply(200, rows, { 'X-Total-Count': String(count?.n ?? 0) });
  },
});

export const notificationRoutes = [postNotification, getNotifications];
