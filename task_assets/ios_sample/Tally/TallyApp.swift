import SwiftUI

/// Counts things, and remembers what was counted.
@main
struct TallyApp: App {
    @State private var screen = "counter"

    var body: some Scene {
        WindowGroup {
            ContentView(screen: $screen)
                .onOpenURL { url in
                    screen = DeepLink.screen(for: url.absoluteString)
                }
        }
    }
}
