import address from "../../../build/icons/toolshed.svg";

/** The app's own icon. */
export function Logo({ size }: { size: number }) {
  return <img src={address} width={size} height={size} alt="" draggable={false} />;
}
