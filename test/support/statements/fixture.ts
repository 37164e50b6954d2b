import type { Statement } from '#platform/db/sql.ts';

/** Statements with one mistake each, for the test of the tools in this folder. They are not declared with `statement()`, so nobody runs them. */
const declare = <Row>(name: string, text: string): Statement<Row> => ({ name, text });

export const MISTAKES = [
  declare<{ wallet: string }>('misspelt', 'select walet from players'),
  declare<{ wallet: number }>('wrong_type', 'select wallet from players'),
  declare<{ wallet: string; mode: string }>('missing', 'select wallet from players'),
  declare<{ wallet: string }>('undeclared', 'select wallet, mode from players'),
  declare<{ ban_reason: string }>('null_forgotten', 'select ban_reason from players'),
  declare<{ mode: string | null }>('null_invented', 'select mode from players'),
  declare<{ earned: string }>('integer_as_text', 'select earned from players'),
  declare<{ version: number }>('bigint_as_number', 'select version from standings'),
  declare('no_row', 'select wallet from players'),
  declare<{ wallet: string; banned: boolean; reason: string | null; points: string[] }>(
    'correct',
    `select wallet, banned_at is not null as banned, ban_reason as reason, array[1::int8] as points from players`,
  ),
];
