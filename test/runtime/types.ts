// The port types that stories about the runtime name.

export type {
  Item,
  ModelOutcome,
  ModelRequest,
  News,
  OfferAnswer,
  ToolEvent,
  ToolJob,
  ToolOutcome,
} from '../../sidecar/ports.ts';
export type { Ports } from '../../sidecar/runtime/memory.ts';
