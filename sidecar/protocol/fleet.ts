// Channel `fleet`: the few numbers that the status bar and the badge show.

export interface FleetState {
  readonly agents: number;
  readonly running: number;
  readonly waiting: number;
  /** Requests that a person must decide. */
  readonly decisions: number;
  /** Changes that wait for a verdict. */
  readonly reviews: number;
  readonly failed: number;
  readonly done: number;
  readonly microUsd: number;
  /** True while any running agent is answered by a script and not by a model. */
  readonly scripted: boolean;
  /** Why nothing starts, in words for a person; null when all is well. */
  readonly trouble: string | null;
}

export const emptyFleet: FleetState = {
  agents: 0,
  running: 0,
  waiting: 0,
  decisions: 0,
  reviews: 0,
  failed: 0,
  done: 0,
  microUsd: 0,
  scripted: false,
  trouble: null,
};

export type FleetAction = { readonly kind: 'fleet/set'; readonly state: FleetState };

export function fleetReducer(state: FleetState, action: FleetAction): FleetState {
  switch (action.kind) {
    case 'fleet/set':
      return action.state;
    default:
      return state;
  }
}
