/** The services that send webhooks. */
export const WEBHOOK_SOURCES = ['payment-status', 'chat-bridge', 'x'] as const;
export type WebhookSource = (typeof WEBHOOK_SOURCES)[number];
