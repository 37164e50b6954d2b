/** The queues of the service. Redis stores jobs by queue name, so jobs that wait in a renamed queue are lost. */
export const QUEUES = [
  'scores',
  'points',
  'maintenance',
  'chain',
  'polling',
  // One queue per priority class of transactions, so that jobs of one class never wait for jobs of another class.
  'sign-commitments',
  'sign-roots',
  'sign-payouts',
  'sign-claims',
  'payouts',
  'webhooks',
  'epochs',
  'rounds',
  'arcade',
] as const;
export type QueueName = (typeof QUEUES)[number];
