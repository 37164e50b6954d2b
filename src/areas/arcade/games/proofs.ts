import type { Game } from './definition.ts';

const PLAY = [
  'the wallet started a play of the game before the score',
  'the play was neither too short nor too long, and gave one score',
  'the wallet did not start a newer play of the game before it submitted the score, unless the game allows several live plays',
] as const;
const PROOFS = {
  none: [],
  play: PLAY,
  heartbeat: [...PLAY, 'a client with the session of the wallet was connected from the start to the end of the play'],
  replay: [
    ...PLAY,
    'the inputs of the play give this score in the simulation of the game, from a seed that the service drew for the play',
    'the play lasted at least as long as its inputs',
  ],
} as const;
const NO_PERSON = 'not proven: that a person played';
const NOT_PROVEN = `${NO_PERSON}, and that the client computed the score by the rules of the game`;

/** Returns a list of sentences: the facts that the verification of a game proves about an accepted score, and last the facts that it does not prove. */
export const proofsOf = ({ verification, secret }: Pick<Game, 'verification' | 'secret'>): string[] => [
  'the score is in the range of the game',
  ...PROOFS[verification],
  ...(secret === null ? [] : ['the client signed the score with a key that is part of the build of the game']),
  verification === 'replay' ? NO_PERSON : NOT_PROVEN,
];
