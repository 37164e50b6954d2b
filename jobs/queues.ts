/** The queues of the service. Redis stores jobs by queue name, so jobs that wait in a renamed queue are lost. */
export const QUEUES = ['scores', 'points', 'maintenance', 'chain', 'polling', 'payouts', 'webhooks', 'epochs', 'rounds', 'arcade'] as const;
export type QueueName = (typeof QUEUES)[number];
