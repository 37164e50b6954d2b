import type { App } from '../../../context.ts';

/** Looks at what a ticket was paid with, and accepts or refuses it. */
export async function checkTicket(_app: App, _ticket: string): Promise<void> {}

/** Rings for tickets that wait for their next look. */
export async function sweepTickets(_app: App): Promise<void> {}
