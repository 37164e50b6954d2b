import { z } from 'zod';
import { Wallet } from '#lib/scalars.ts';

/** The rules that map addresses of pages to actions, as the specification of Solana Actions defines `actions.json`. */
export const ActionsFile = z
  .strictObject({
    rules: z.array(
      z.strictObject({
        pathPattern: z.string().meta({ description: '`*` matches one segment of the path, `**` any number.', example: '/share/round/*' }),
        apiPath: z.string().meta({ description: 'Path of the action.', example: '/actions/rounds/*/enter' }),
      }),
    ),
  })
  .meta({ id: 'ActionsFile' });

const words = {
  icon: z.url().meta({ description: 'Absolute URL of a PNG or SVG image.', example: 'https://arcade.example/actions/icon.svg' }),
  title: z.string().meta({ example: 'Rewards of 20 November 2026' }),
  description: z.string().meta({ example: 'Claims your reward. You pay the network fee.' }),
  label: z.string().meta({ description: 'Text of the button, at most five words.', example: 'Claim reward' }),
};

/** An action, as the specification of Solana Actions defines the response of GET. */
export const ActionView = z
  .strictObject({
    type: z.literal('action'),
    ...words,
    disabled: z.boolean().meta({ description: 'Whether the action cannot be done now. `error` is then the reason.' }),
    error: z.strictObject({ message: z.string().meta({ example: 'the round is closed' }) }).optional(),
    links: z.strictObject({
      actions: z.array(
        z.strictObject({
          type: z.literal('transaction'),
          href: z.string().meta({ description: 'Path to which the client posts the account.', example: '/actions/claim/20777' }),
          label: words.label,
        }),
      ),
    }),
  })
  .meta({ id: 'Action' });

/** The request of a transaction. The specification demands that unknown fields are accepted. */
export const ActionRequest = z
  .looseObject({ account: Wallet.meta({ description: 'The wallet that signs the transaction and pays its fee.' }) })
  .meta({ id: 'ActionRequest' });

/** A transaction that the account signs and sends, and the text that the client shows after it. */
export const ActionTransaction = z
  .strictObject({
    type: z.literal('transaction'),
    transaction: z.base64().meta({ description: 'The unsigned transaction, base64. The account pays its fee.', example: 'AQABAg==' }),
    message: z.string().meta({ description: 'One or two sentences about the transaction.', example: 'You claim 2.5 tokens.' }),
    links: z.strictObject({
      next: z.strictObject({
        type: z.literal('inline'),
        action: z.strictObject({ type: z.literal('completed'), ...words, disabled: z.literal(true) }),
      }),
    }),
  })
  .meta({ id: 'ActionTransaction' });
