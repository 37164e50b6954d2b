import { z } from 'zod';
import { Id, Instant, line, Slug, Wallet } from '#lib/scalars.ts';
import { ERASURE_KINDS, type ErasureKind } from './entities.ts';

const StateId = z.string().refine((text) => {
  const [wallet, gameId, ...rest] = text.split('/');
  return rest.length === 0 && Wallet.safeParse(wallet).success && Slug.safeParse(gameId).success;
}, 'must be <wallet>/<game> for a state');

/** The form of the id of each kind. */
const IDS: Readonly<Record<ErasureKind, z.ZodType<string>>> = { record: Id, state: StateId, clip: Id, chat: Id, name: Wallet };

const kind = z.enum(ERASURE_KINDS).meta({
  description:
    'record: a game record. state: a saved state. clip: a clip with its file. chat: a chat message. name: the `.sol` name and the linked accounts of a wallet.',
  example: 'chat',
});
const id = z.string().meta({
  description: 'Id of the record, clip or message; `<wallet>/<game>` of a state; the wallet of names.',
  example: '0199b3a2-7c1e-7d44-9a57-2f1f5e0c9b1a',
});

export const ErasureRequest = z
  .strictObject({ kind, id, reason: line(200).meta({ description: 'Reference of the lawful request.', example: 'request 2026-17' }) })
  .superRefine((body, context) => {
    const parsed = IDS[body.kind].safeParse(body.id);
    if (!parsed.success) context.addIssue({ code: 'custom', path: ['id'], message: parsed.error.issues[0]?.message ?? 'is malformed' });
  })
  .meta({ id: 'ErasureRequest' });
export type ErasureRequest = z.output<typeof ErasureRequest>;

export const ErasureView = z
  .strictObject({
    erasureId: Id,
    kind,
    id,
    reason: z.string().meta({ example: 'request 2026-17' }),
    by: z.string().meta({ description: 'Name of the admin token.', example: 'admin-1' }),
    at: Instant,
  })
  .meta({ id: 'Erasure' });
export type ErasureView = z.input<typeof ErasureView>;
