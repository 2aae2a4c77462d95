// The parts of the panel, top to bottom. Each is drawn by itself, so a word that streams in redraws one of them.

import { say } from '../strings.ts';

type PlaceName = 'header' | 'scroller' | 'above' | 'below' | 'latest' | 'commands' | 'strip' | 'composer';
export type Places = Readonly<Record<PlaceName, HTMLElement>>;

/** Makes them inside `root`, in place of what it held. */
export function layOut(root: HTMLElement): Places {
  const make = (tag: string, name: string): HTMLElement => {
    const element = document.createElement(tag);
    element.className = name;
    return element;
  };
  const places: Places = {
    header: make('header', 'agenthead'),
    scroller: make('div', 'scroller'),
    above: make('div', 'above'),
    below: make('div', 'below'),
    latest: make('div', 'tolatest'),
    commands: make('div', 'strip'),
    strip: make('div', 'strip'),
    composer: make('div', 'composer'),
  };
  places.scroller.tabIndex = 0;
  places.scroller.setAttribute('role', 'log');
  places.scroller.setAttribute('aria-live', 'off'); // the live region says what matters; every word would be too much
  places.scroller.setAttribute('aria-label', say('transcript.label'));
  places.commands.hidden = true;
  places.strip.hidden = true;
  const middle = make('main', 'transcript');
  middle.append(places.scroller, places.above, places.below, places.latest);
  root.replaceChildren(places.header, middle, places.commands, places.strip, places.composer);
  return places;
}
