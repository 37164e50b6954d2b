import type { PageRoute } from './page-route.ts';

/** Every page of the arcade. The service serves the same paths; see src/areas/web. */
export const pages: readonly PageRoute[] = [
  { path: '/', title: 'Coinop', policy: 'plain', load: () => import('./home/home-page.tsx') },
  { path: '/games/{id}', title: 'Play', policy: 'play', load: () => import('./play/play-page.tsx') },
  { path: '/boards', title: 'Leaderboards', policy: 'plain', load: () => import('./boards/boards-page.tsx') },
  { path: '/boards/{id}', title: 'Leaderboards', policy: 'plain', load: () => import('./boards/boards-page.tsx') },
  { path: '/tasks', title: 'Quests and tasks', policy: 'plain', load: () => import('./tasks/tasks-page.tsx') },
  { path: '/rewards', title: 'Rewards', policy: 'plain', load: () => import('./rewards/rewards-page.tsx') },
  { path: '/history', title: 'Your history', policy: 'plain', load: () => import('./history/history-page.tsx') },
  { path: '/check/round/{id}', title: 'Check a round', policy: 'check', load: () => import('./check/check-page.tsx') },
  { path: '/check/epoch/{id}', title: 'Check an epoch', policy: 'check', load: () => import('./check/check-page.tsx') },
  { path: '/check/score/{id}', title: 'Check a score', policy: 'check', load: () => import('./check/check-page.tsx') },
];
